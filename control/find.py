"""Finding what a person means: a digest by its beginning, a workflow's route, what the store's clock says."""

import re
import time

from control.times import Clock
from runtime.protocol.errors import InvalidValue
from runtime.protocol.records import Route
from runtime.store.store import Store

LEAST = 4
WHOLE = re.compile(r"[0-9a-f]{64}")


async def digest_of(store: Store, text: str) -> str:
    """The one registered digest that begins with `text`; `InvalidValue` says when there is none, or several.

    A whole digest is given back even if nobody registered it: what that means is the store's to say.
    """
    if WHOLE.fullmatch(text):
        return text
    found = [digest for digest, _ in await store.definitions() if len(text) >= LEAST and digest.startswith(text)]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(digest[:16] for digest in found)
        raise InvalidValue("digest", f"{text!r} is the beginning of several definitions ({several}); write more of it")
    raise InvalidValue(
        "digest",
        f"no registered definition begins with {text!r} ({LEAST} characters at least); `definitions list` shows them",
    )


async def route_of(store: Store, workflow: str) -> Route | None:
    """Where new jobs of a workflow go; None if there is no route yet (revision 0)."""
    routes = (await store.snapshot(flows=0)).routes
    return next((route for route in routes if route.workflow == workflow), None)


async def clock_of(store: Store) -> Clock:
    """The store's clock and what it says now."""
    if store.clock == "wall":
        return Clock("wall", time.time_ns() // 1_000_000)
    return Clock(store.clock, (await store.control()).tick)

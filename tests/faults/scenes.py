"""What is done while the disk fails: every verb's scene, a new file, and a store's life from admission to pause."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from demos.scenarios.cases import CASES, ONE, UNITS, V1, V2, WORKER, Arguments, Case
from runtime.protocol.records import Token
from runtime.store.store import Store


class Call(NamedTuple):
    """One call of a verb: its word when it is first made, and when it is repeated after it was committed."""

    verb: str
    arguments: Arguments
    first: str
    again: str


class Scene(NamedTuple):
    """`prepare` makes the state and gives the calls; a `new` scene begins without a file."""

    name: str
    prepare: Callable[[Store], Awaitable[Sequence[Call]]]
    new: bool = False


async def alone(case: Case, store: Store) -> Sequence[Call]:
    """A verb's own scene."""
    await store.register_many([V1, V2, ONE], now=0)
    for manifest in (V1, ONE):
        await store.switch(manifest.digest, 0, now=0)
    return [Call(case.verb, await case.prepare(store), case.first, case.again)]


async def first_use(store: Store) -> Sequence[Call]:
    """The first definition in a file that does not exist yet."""
    return [
        Call("register", {"manifest": V1, "now": 1}, "registered", "known"),
        Call("switch", {"digest": V1.digest, "expected_revision": 0, "now": 1}, "switched", "stale"),
    ]


async def life(store: Store) -> Sequence[Call]:
    """Two jobs from their admission to the pause, with a failure and a checkpoint on the way."""
    await store.register(V1, now=0)
    await store.switch(V1.digest, 0, now=0)

    def admit(name: str) -> Call:
        wish = {"workflow": "points", "id": name, "payload": UNITS, "flow": name, "now": 1}
        return Call("admit", wish, "accepted", "replay")

    def claim(count: int, now: int) -> Call:
        return Call("claim", {"limit": 2, "worker": WORKER, "now": now}, f"{count} claimed", "0 claimed")

    def commit(name: str, generation: int, cursor: int, now: int) -> Call:
        token = Token(name, 0, generation, cursor, V1.digest)
        word = "done" if cursor else "advanced"
        return Call("commit_step", {"token": token, "value": 10, "worker": WORKER, "now": now}, word, "stale")

    failing = {"token": Token("b", 0, 1, 0, V1.digest), "reason": "broken", "worker": "worker", "now": 2}
    return [
        *(admit("a"), admit("b"), claim(2, 1)),
        *(commit("a", 1, 0, 2), Call("fail", failing, "retry", "stale")),
        Call("checkpoint", {}, "None", "None"),
        Call("transition", {"action": "drain", "expected_version": 0, "now": 3}, "draining", "stale"),
        *(claim(2, 9), commit("a", 2, 1, 9), commit("b", 2, 0, 9), claim(1, 9), commit("b", 3, 1, 9)),
        Call("transition", {"action": "pause", "expected_version": 1, "now": 9}, "paused", "stale"),
    ]


SCENES = (
    Scene("a new file", first_use, new=True),
    Scene("a life", life),
    *(Scene(f"{case.verb}: {case.prepare.__name__.replace('_', ' ')}", partial(alone, case)) for case in CASES),
)

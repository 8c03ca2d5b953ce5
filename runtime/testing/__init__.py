"""For tests of one's own handlers: a store on a logical clock, a pool that runs until it is idle, a clock that is moved
by hand, a process that ends at a named point. A composition root.

    async def test_a_failed_charge_is_tried_again(tmp_path):
        async with testing.store(tmp_path / "test.db") as store:
            await testing.prepare(app, store)
            await app.admit(store, "order-1", {"amount": 10})
            await testing.run_until_idle(app, store)
            await testing.advance(store, 2_000)
            await testing.run_until_idle(app, store)
            assert (await store.wait_done("order-1", timeout=1)).result == "charged"

Values go through the same door as in production: nothing here skips encoding. On the logical clock time stands still
between calls of `advance`, so backoffs and leases are exact.
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from runtime.embed import run
from runtime.protocol.errors import InvalidValue
from runtime.store import points
from runtime.store.store import Store

if TYPE_CHECKING:
    from workers.app import App

CRASHED = points.EXIT_CODE


@asynccontextmanager
async def store(path: str | os.PathLike[str], *, store_id: str = "test") -> AsyncIterator[Store]:
    """A store on a logical clock, from tick 0, closed at the end."""
    opened = await Store.open(path, clock="logical", store_id=store_id)
    try:
        yield opened
    finally:
        await opened.close()


async def prepare(app: "App", store: Store) -> None:
    """What a pool does at its start: the app's own tables, its manifests, a route where a workflow has none."""
    await app.prepare(store)


async def run_until_idle(app: "App", store: Store, *, concurrency: int = 8) -> None:
    """Run the app's jobs until nothing of it is claimable; what backs off waits for `advance`."""
    await run(app, store, concurrency=concurrency, until_idle=True)


async def advance(store: Store, ticks: int) -> int:
    """Move the store's logical clock forward and return the new tick; what has come due is moved at once."""
    control = await store.control()
    if control.clock != "logical":
        raise InvalidValue("store", "a store on a logical clock is expected: open it with runtime.testing.store")
    tick = control.tick + ticks
    await store.sweep(now=tick)
    return tick


def crash_at(point: str, *command: str, timeout_s: float = 30.0) -> "subprocess.CompletedProcess[str]":
    """Run `python COMMAND…` in a process that ends at a named point, with exit code `CRASHED` if it came there.

    `crash_at("commit_step.before_commit", "-m", "runtime", "work", "myapp:app", "--db", "t.db", "--until-idle")`;
    `runtime.store.points.names()` lists the points, and a wrong one is refused.
    """
    points.parsed(point, "point")
    environment = {**os.environ, points.VARIABLE: point}
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
    )

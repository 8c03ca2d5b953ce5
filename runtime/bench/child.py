"""A process that the bench starts: `python -m runtime.bench.child APP DB serve|drain`.

It says READY on stdout when its store is open. `serve` works until its stdin ends. `drain` waits for a line on stdin,
works until nothing is left and says how it went as one line of JSON.
"""

import sys
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec

from runtime import loop
from runtime.bench import apps
from runtime.bench.lab import CONCURRENCY, watched, work_off
from runtime.bench.watched import Watched
from runtime.embed import run
from workers import App


class Went(msgspec.Struct, frozen=True):
    """How a child's drain went. Times are the machine's monotonic seconds, which all its processes share."""

    first_claim_s: float
    last_commit_s: float
    committed: int
    longest_wait_ms: float


async def serve(app: App, path: Path) -> None:
    """Work until stdin ends."""
    async with await watched(path) as store, anyio.create_task_group() as group:

        async def end() -> None:
            await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
            group.cancel_scope.cancel()

        group.start_soon(end)
        print("READY", flush=True)
        await run(app, store, concurrency=CONCURRENCY)


async def drain(app: App, path: Path) -> None:
    """Work until nothing is left, once told to."""
    async with await watched(path) as store:
        waits = _timed_turns(store)
        print("READY", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        await work_off(store, app)
        went = Went(store.first_claim_s or 0.0, store.last_commit_s, store.committed, max(waits, default=0.0))
    print(msgspec.json.encode(went).decode(), flush=True)


def _timed_turns(store: Watched) -> list[float]:
    """Milliseconds that each turn at the file was waited for."""
    waits: list[float] = []
    turnstile: Any = store._writer._groups._turnstile
    enter = turnstile.enter

    def timed(deadline: float) -> None:
        started = time.perf_counter()
        enter(deadline)
        waits.append((time.perf_counter() - started) * 1000)

    turnstile.enter = timed
    return waits


def main(arguments: list[str]) -> None:
    """Run one child."""
    name, path, action = arguments
    loop.run({"serve": serve, "drain": drain}[action], getattr(apps, name), Path(path))


if __name__ == "__main__":
    main(sys.argv[1:])

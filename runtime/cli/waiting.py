"""What a waiting drain shows on stderr: how much is left, how fast it goes, the slowest flow, the longest lease."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from control.barrier import Progress
from control.times import Clock
from runtime.cli.output import console, printable, say

if TYPE_CHECKING:
    from runtime.store.picture import Picture
    from runtime.store.store import Store

LIVE_EVERY_S = 0.5
LINE_EVERY_S = 5.0


class Shown:
    """Called with each `Progress`; the page is drawn beside it, so that drawing never holds up the drain."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.began = anyio.Event()

    def __call__(self, progress: Progress) -> None:
        self.progress = progress
        self.began.set()


@asynccontextmanager
async def watched(store: "Store") -> AsyncIterator[Shown]:
    """Show a drain while the body runs it: a live block on a terminal, a line every few seconds elsewhere."""
    shown = Shown()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_show, store, shown)
        yield shown
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def interrupted() -> AsyncIterator[None]:
    """An interrupt ends the waiting and not the drain: say so."""
    try:
        yield
    except anyio.get_cancelled_exc_class():
        say("interrupted; what was begun goes on without this command: `status` shows it, `resume` opens admission")
        raise


async def _show(store: "Store", shown: Shown) -> None:
    await shown.began.wait()
    if not sys.stderr.isatty():
        while True:
            say("; ".join(await _lines(store, shown)))
            await anyio.sleep(LINE_EVERY_S)
    from rich.live import Live

    with Live("", console=console(errors=True), auto_refresh=False, transient=True) as live:
        while True:
            live.update(printable("\n".join(await _lines(store, shown))), refresh=True)
            await anyio.sleep(LIVE_EVERY_S)


async def _lines(store: "Store", shown: Shown) -> list[str]:
    from runtime.store.picture import picture

    assert shown.progress is not None
    return describe(shown.progress, await picture(store, flows=1, inflight=1, quarantined=1))


def describe(progress: Progress, picture: "Picture") -> list[str]:
    """A drain under way in words: left and rate, the slowest flow, the longest lease, who is quarantined."""
    left = (
        f"about {progress.remaining / progress.per_second:.0f}s to go" if progress.per_second > 0 else "none done yet"
    )
    lines = [f"draining (version {progress.version}): {progress.remaining} left, {progress.per_second:.1f}/s, {left}"]
    clock = Clock(picture.clock, picture.snapshot.taken_at)
    lines += [
        f"slowest flow {flow.name}: {flow.unfinished} unfinished"
        for flow in picture.snapshot.flows[:1]
        if flow.unfinished
    ]
    lines += [f"longest lease {_lease(flight, clock)}" for flight in picture.inflight[:1]]
    if parked := picture.snapshot.jobs["quarantined"]:
        first = picture.quarantined[0].job
        lines.append(f"{parked} quarantined, such as {first}: a person must act (`why drain`)")
    lines += [
        f"no live worker declares {cover.digest[:12]}: {cover.unfinished} unfinished"
        for cover in picture.coverage
        if cover.stranded
    ]
    return lines


def _lease(flight: Any, clock: Clock) -> str:
    gone = "" if flight.worker_alive else ", which is gone"
    return f"{flight.job} at {flight.worker}{gone}, ends {clock.ago(flight.lease_until)}"

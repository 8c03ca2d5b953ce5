"""Handlers that block, do not yield, do not end, or raise what nobody expects; for pools in processes of their own."""

import time
from collections.abc import Callable
from typing import Any

import anyio

from tests.cases.notes import gate, note
from workers import App, Context, SyncContext, step

app = App("odd", abi="cases/1")
SHORT: dict[str, Any] = {"lease": 500, "base": 0, "ceiling": 0}
LONG_TEXT = "Ünverständlich 漢字\n" * 250_000


class Other(BaseException):
    """Outside the tree of Exception."""


class TwoArguments(Exception):
    """Its constructor needs two arguments, so that a copy of it cannot be made from its text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def local() -> Exception:
    """An exception of a class that cannot be imported."""

    class Local(Exception):
        pass

    return Local("from inside a function")


RAISED: dict[str, Callable[[], BaseException]] = {
    "Other": lambda: Other("outside the tree"),
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": lambda: SystemExit(0),
    "GeneratorExit": GeneratorExit,
    "TwoArguments": lambda: TwoArguments(7, "two are needed"),
    "Local": local,
    "long": lambda: RuntimeError(LONG_TEXT),
}


@app.step
async def raises(ctx: Context) -> None:
    """Raises what its payload names."""
    note(ctx, "begin")
    raise RAISED[ctx.payload["raise"]]()


@app.step(process=True)
def raises_elsewhere(ctx: SyncContext) -> None:
    """The same in a process of its own."""
    raise RAISED[ctx.payload["raise"]]()


@app.step
async def blocks(ctx: Context) -> str:
    """Blocks the event loop."""
    note(ctx, "begin")
    time.sleep(ctx.payload["seconds"])  # noqa: ASYNC251  the fault that is shown
    return "blocked"


@app.step
def blocks_in_thread(ctx: SyncContext) -> str:
    """Blocks a thread only."""
    time.sleep(ctx.payload["seconds"])
    return "blocked"


@app.step
async def stubborn(ctx: Context) -> str:
    """Waits for a gate; when cancelled it takes its time."""
    note(ctx, "begin")
    try:
        await gate(ctx.payload["gate"])
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(ctx.payload.get("seconds", 0))
    return "through"


@app.step
async def quick(ctx: Context) -> str:
    """Ends at once."""
    note(ctx, "begin")
    return "quick"


@app.step
async def fails_once(ctx: Context) -> str:
    """Fails at the first attempt."""
    note(ctx, "begin")
    if ctx.attempt == 1:
        raise RuntimeError("the first attempt fails")
    return "well"


def single(workflow: str, handler: Callable[..., Any], **policy: Any) -> None:
    """A workflow of one step."""
    app.manifest([step("only", handler, **{**SHORT, **policy})], workflow=workflow)


single("raises", raises, budget=2)
single("raises-once", raises, budget=1)
single("raises-elsewhere", raises_elsewhere, budget=2)
single("blocks", blocks)
single("blocks-in-thread", blocks_in_thread)
single("stubborn", stubborn)
single("long-lease", stubborn, lease="60s")
single("two-seconds", stubborn, lease="2s")
single("quick", quick)
single("fails-once", fails_once, base=600, ceiling="10s")

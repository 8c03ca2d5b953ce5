"""Starts child processes at one store: one that ends at a crash point, or many behind a gate that opens at once."""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from runtime.protocol.records import Token

ALONE_S = 20
RACE_S = 30
CRASH_VARIABLE = "KEEPSTEP_CRASH_AT"
PROGRAM = Path(__file__).with_name("child.py")
ROOT = PROGRAM.parents[2]

Call = tuple[str, dict[str, Any]]


def command(path: Path, watchdog_s: int) -> list[str]:
    """How a child is started."""
    return [sys.executable, "-P", str(PROGRAM), str(path), str(watchdog_s)]


def environment(at: str | None = None) -> dict[str, str]:
    """The parent's environment, with this very code importable and at most one crash point armed."""
    kept = {name: value for name, value in os.environ.items() if name != CRASH_VARIABLE}
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    return kept if at is None else {**kept, CRASH_VARIABLE: at}


def encoded(call: Call) -> bytes:
    """A call as a child reads it."""
    verb, arguments = call
    return msgspec.json.encode({"verb": verb, "args": arguments}) + b"\n"


async def crash(path: Path, at: str, verb: str, **arguments: Any) -> int:
    """Run one call in a child that is armed to end at the point `at`; returns its exit code."""
    ended = await anyio.run_process(
        command(path, ALONE_S), input=encoded((verb, arguments)) + b"GO\n", env=environment(at), check=False
    )
    if ended.returncode not in (0, 73):
        raise ChildFailed(f"{verb} armed at {at}: exit {ended.returncode}\n{ended.stderr.decode()}")
    return ended.returncode


class ChildFailed(Exception):
    """A child ended otherwise than the scenario lets it."""


class Child:
    """A child process at one store, which makes calls when it is told to."""

    def __init__(self, process: Process) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._output = BufferedByteReceiveStream(process.stdout)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self.process.pid

    async def prepare(self, call: Call) -> None:
        """Hand over a call and wait until the child stands at the gate."""
        await self._input.send(encoded(call))
        if (line := await self._line()) != b"READY":
            raise ChildFailed(f"READY was expected of child {self.pid}, got {line!r}")

    async def go(self) -> None:
        """Open the gate."""
        await self._input.send(b"GO\n")

    async def answer(self) -> Any:
        """What the store answered, as plain data."""
        return msgspec.json.decode(await self._line())

    async def make(self, call: Call) -> Any:
        """A call without a race."""
        await self.prepare(call)
        await self.go()
        return await self.answer()

    async def _line(self) -> bytes:
        try:
            return await self._output.receive_until(b"\n", 2**22)
        except anyio.IncompleteRead:
            raise ChildFailed(f"child {self.pid} ended without an answer, exit {await self.process.wait()}") from None


@asynccontextmanager
async def child(path: Path, watchdog_s: int = RACE_S) -> AsyncIterator[Child]:
    """A child at this store; its input is closed at the end, and it is waited for."""
    async with await anyio.open_process(command(path, watchdog_s), env=environment(), stderr=None) as process:
        yield Child(process)
        assert process.stdin is not None
        await process.stdin.aclose()
        await process.wait()


@asynccontextmanager
async def children(path: Path, count: int) -> AsyncIterator[list[Child]]:
    """Several children at one store, started side by side."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(child(path)) for _ in range(count)]


async def gated(family: Sequence[Child], calls: Sequence[Call]) -> list[Any]:
    """Every child READY with its call, then GO to all; the answers in the order of the calls."""
    for one, call in zip(family, calls, strict=True):
        await one.prepare(call)
    with anyio.fail_after(RACE_S):
        for one in family:
            await one.go()
        return [await one.answer() for one in family]


async def race(path: Path, calls: Sequence[Call]) -> list[Any]:
    """One process for each call, gated; the answers in the order of the calls."""
    async with children(path, len(calls)) as family:
        return await gated(family, calls)


def token(claim: dict[str, Any]) -> Token:
    """The token of a claim that a child answered."""
    return msgspec.convert(claim["token"], Token)

"""Handlers with process=True, each in a process of its own while it runs: the worker's side.

A child is started with a fresh interpreter (never a fork), speaks JSON lines over its pipes, is used again, and is
killed when its handler reaches the time limit or is cancelled. It ends by itself when its worker is gone.
"""

import math
import os
import sys
import time
from types import TracebackType
from typing import Self

import anyio
from anyio import CancelScope, CapacityLimiter, EndOfStream
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from runtime.protocol.canonical import cut
from workers.context import Context
from workers.findings import Died, Ending, Finding, Returned
from workers.handlers import Bound
from workers.lines import (
    Ask,
    Call,
    Ended,
    Hello,
    Ready,
    Reply,
    ToChild,
    ToParent,
    read_in_parent,
    unwrap,
    wrap,
    write_line,
)

MAX_LINE_BYTES = 64 * 1024 * 1024
GONE_WITHIN_S = 1.0
BROKEN = (EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead, OSError)


class Processes:
    """Room for `places` children; they are started when needed and kept for the next attempt."""

    def __init__(self, places: int, target: str | None) -> None:
        self._places = places
        self._target = target
        self._limiter: CapacityLimiter | None = None
        self._idle: list[Child] = []

    async def call(self, context: Context, bound: Bound) -> Ending:
        """How the handler ended; a cancellation gets through once its process has been killed."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(self._places)
        async with self._limiter:
            child = self._idle.pop() if self._idle else None
            reusable = False
            try:
                if child is None:
                    child = await Child.start()
                    if (error := await child.hello(self._target or "")) is not None:
                        return Finding("fail", f"the handler's process could not load the app: {error}")
                ending = await child.attempt(context, bound)
                reusable = not isinstance(ending, Died)
                return ending
            finally:
                if child is not None and reusable:
                    self._idle.append(child)
                elif child is not None:
                    await child.kill()

    async def aclose(self) -> None:
        """End the idle children."""
        while self._idle:
            await self._idle.pop().kill()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Child:
    """One process."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._lines = BufferedByteReceiveStream(process.stdout)

    @classmethod
    async def start(cls) -> "Child":
        """A fresh interpreter, in the same environment."""
        command = [sys.executable, "-m", "workers.child"]
        path = os.pathsep.join(part for part in sys.path if part)
        with CancelScope(shield=True):
            process = await anyio.open_process(command, stderr=None, env={**os.environ, "PYTHONPATH": path})
        return cls(process)

    async def hello(self, target: str) -> str | None:
        """Have the app loaded; what is wrong, if it cannot be."""
        try:
            await self._send(Hello(target, [part for part in sys.path if part]))
            answer = await self._receive()
        except BROKEN:
            return await self._end()
        return answer.error if isinstance(answer, Ready) else f"it answered with {answer!r}"

    async def attempt(self, context: Context, bound: Bound) -> Ending:
        """One call, with its questions answered."""
        left_s = None if math.isinf(context.deadline) else context.deadline - time.monotonic()
        context.begun = True
        try:
            await self._send(Call(context.claim, bound.step, context.store_id, left_s))
            while True:
                match await self._receive():
                    case Ask(what, args):
                        await self._send(await _answer(context, what, args))
                    case Ended(value, writes, finding):
                        for sql, params in writes:
                            context.execute(sql, unwrap(params))
                        return Finding(*finding) if finding is not None else Returned(value)
                    case other:
                        return Died(f"the handler's process answered with {other!r}")
        except BROKEN:
            return Died(f"the handler's process {await self._end()}")

    async def kill(self) -> None:
        """End it now and wait until it has ended; no cancellation gets in between."""
        with CancelScope(shield=True):
            if self._process.returncode is None:
                self._process.kill()
            await self._process.aclose()

    async def _end(self) -> str:
        # A process that has ended is waited for, not killed: a signal would take its exit code from under the loop.
        with anyio.move_on_after(GONE_WITHIN_S, shield=True):
            await self._process.wait()
        await self.kill()
        code = self._process.returncode
        return f"ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"

    async def _send(self, message: ToChild) -> None:
        await self._stdin.send(write_line(message))

    async def _receive(self) -> ToParent:
        return read_in_parent(await self._lines.receive_until(b"\n", MAX_LINE_BYTES))


async def _answer(context: Context, what: str, args: list[object]) -> Reply:
    try:
        if what == "effect":
            return Reply(await context.effect(str(args[0])))
        return Reply(wrap(await context.query(str(args[0]), unwrap(args[1]))))
    except Exception as error:
        return Reply(error=cut(str(error)), kind=type(error).__name__)

"""Under the shim: `python -m tests.faults.server`. Each line asks for one child, which makes a scene's calls while the
disk fails, and is answered by one line: what the child was told, and how it ended.

Children are forked from a process that has imported everything and never opened a database.
"""

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import msgspec

from demos.scenarios.child import decoded
from demos.scenarios.scenes import said
from demos.scenarios.world import STORE_ID
from runtime.protocol.errors import CommitUnknown
from runtime.store import log, points
from runtime.store.store import Store
from tests.powerloss.shim import Mode, Shim

LONGEST_S = 20


class Order(msgspec.Struct):
    """Make these calls at this file; the disk fails at its `call`-th change."""

    path: str
    calls: list[tuple[str, dict[str, Any]]]
    mode: Mode = Mode.COUNT
    call: int = 0


class Told(msgspec.Struct):
    """What the child was told: a word or an error. `at` is `open`, `closed` or the number of a call; `in_commit` that
    COMMIT had been sent and had not come back; `fired` how many calls had failed by then."""

    at: int | str
    word: str | None = None
    error: str | None = None
    text: str = ""
    in_commit: bool = False
    fired: int = 0


class Report(msgspec.Struct):
    """All that a child was told; its exit status (negative: the signal), its changes of the disk if it lived."""

    told: list[Told]
    status: int
    changes: list[str]


class Child:
    """One scene's calls in a forked process."""

    def __init__(self, order: Order, output: int) -> None:
        self.order = order
        self.output = output
        self.shim = Shim()
        self.reached: list[str] = []

    async def act(self) -> None:
        """Open, call, close; after a fault once more. Here more scenes lay the write-ahead file out, which a fault may
        strike too."""
        log.LITTLE_BYTES, log.ORDINARY_BYTES = 10_000, 1_000_000
        points.reach = points.by_name(self.reached.append)
        self.shim.arm(Path(self.order.path), self.order.mode, call=self.order.call)
        store = await self._opened()
        if store is None:
            return
        for number, (verb, arguments) in enumerate(self.order.calls):
            if not await self._called(store, number, verb, decoded(arguments)):
                break
        try:
            await store.close()
        except Exception as error:
            self._say(Told("closed", error=type(error).__name__, text=str(error)))
        else:
            self._say(Told("closed", "closed"))
        calls = [self.shim.call(number) for number in range(1, self.shim.count + 1)]
        os.write(self.output, msgspec.json.encode(calls) + b"\n")

    async def _opened(self) -> Store | None:
        for _ in range(2):
            try:
                store = await Store.open(self.order.path, clock="logical", store_id=STORE_ID)
            except Exception as error:
                self._say(Told("open", error=type(error).__name__, text=str(error)))
                self.shim.lift()
            else:
                self._say(Told("open", "opened"))
                return store
        return None

    async def _called(self, store: Store, number: int, verb: str, arguments: dict[str, Any]) -> bool:
        """Whether it was answered, at once or when it was asked for again without the fault."""
        for _ in range(2):
            self.reached.clear()
            try:
                told = Told(number, said(await getattr(store, verb)(**arguments)))
            except Exception as error:
                told = Told(number, error=type(error).__name__, text=str(error), in_commit=self._in_commit())
            self._say(told)
            if told.word is not None:
                return True
            if told.error != CommitUnknown.__name__:
                self.shim.lift()
        return False

    def _in_commit(self) -> bool:
        return bool(self.reached) and self.reached[-1].endswith(".before_commit")

    def _say(self, told: Told) -> None:
        told.fired = self.shim.fired
        os.write(self.output, msgspec.json.encode(told) + b"\n")


def forked(order: Order) -> Report:
    """Run one child and gather what it says."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        signal.alarm(LONGEST_S)
        try:
            anyio.run(Child(order, writing).act)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        lines = stream.read().splitlines()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    changes: list[str] = msgspec.json.decode(lines.pop()) if lines and lines[-1].startswith(b"[") else []
    return Report([msgspec.json.decode(line, type=Told) for line in lines], status, changes)


def serve(lines: Iterable[str]) -> None:
    """Answer each order."""
    for line in lines:
        sys.stdout.write(msgspec.json.encode(forked(msgspec.json.decode(line, type=Order))).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.stdin)

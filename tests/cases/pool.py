"""Pools for cases: a real one in a process of its own, or one inside the test; neither outlives its test.

    async with pool(db, "--concurrency", "2") as running:      # python -m runtime work tests.cases.apps:app --db …
        await running.ready()
        running.send(signal.SIGTERM)
        assert await running.wait() == 0
"""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from demos.scenarios.gate import environment
from runtime.embed import run
from runtime.stopping import Stop
from runtime.store.store import Store
from tests.cases.notes import VARIABLE
from workers import App

APP = "tests.cases.apps:app"
PROGRAM = ("runtime",)
LONGEST_LINE = 4096
START_S = 20.0
_numbers = itertools.count(1)


class Pool:
    """`python -m runtime work` in a process (and a session) of its own; stderr goes to a file beside the database."""

    def __init__(self, process: Process, log: Path) -> None:
        self.process = process
        self.pid = process.pid
        self._log = log
        assert process.stdout is not None
        self._stdout = BufferedByteReceiveStream(process.stdout)

    async def ready(self) -> str:
        """Wait for the `ready` line, and return it."""
        try:
            with anyio.fail_after(START_S):
                return (await self._stdout.receive_until(b"\n", LONGEST_LINE)).decode()
        except (anyio.IncompleteRead, anyio.EndOfStream):
            code = await self.process.wait()
            raise AssertionError(f"the pool ended with {code} before it was ready:\n{self.log}") from None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process alone."""
        self.process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL to the process, and to those that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self.process.wait()

    async def wait(self, within_s: float = 20.0) -> int:
        """Wait for its end; the exit code."""
        with anyio.fail_after(within_s):
            return await self.process.wait()

    @property
    def log(self) -> str:
        """What it has written to stderr."""
        return self._log.read_text()


@asynccontextmanager
async def pool(
    db: Path,
    *flags: str,
    app: str = APP,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = PROGRAM,
) -> AsyncIterator[Pool]:
    """A pool at this database. It is killed at the end if it still runs."""
    command = [sys.executable, "-m", *program, "work", app, "--db", str(db), *flags]
    log = db.parent / f"pool-{next(_numbers)}.log"
    with log.open("wb") as stderr:
        process = await anyio.open_process(
            command, env=surroundings(db, env), cwd=db.parent, stdin=None, stderr=stderr, start_new_session=True
        )
    async with process:
        running = Pool(process, log)
        try:
            yield running
        finally:
            with anyio.CancelScope(shield=True):
                await running.kill()


async def command(
    db: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    program: Sequence[str] = PROGRAM,
) -> "subprocess.CompletedProcess[bytes]":
    """One command line with `--db`, from a second terminal."""
    line = [sys.executable, "-m", *program, *arguments, "--db", str(db)]
    return await anyio.run_process(
        line, env=surroundings(db, env), cwd=db.parent, input=stdin.encode(), check=False, start_new_session=True
    )


async def terminal(
    db: Path, *lines: Sequence[str], env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    """Several command lines with `--db` from one second terminal; the exit code is the highest of theirs."""
    text = json.dumps([[*line, "--db", str(db)] for line in lines])
    command = [sys.executable, "-m", "tests.cases.terminal"]
    return await anyio.run_process(
        command, env=surroundings(db, env), cwd=db.parent, input=text.encode(), check=False, start_new_session=True
    )


def surroundings(db: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that a case starts."""
    return {**environment(), VARIABLE: str(db.parent), **(more or {})}


class Inside:
    """A pool in this process, with a store of its own."""

    def __init__(self, store: Store, stop: Stop) -> None:
        self.store = store
        self.stop = stop
        self.worker = ""
        self.started = anyio.Event()
        self.ended = anyio.Event()

    def ready(self, worker: str) -> None:
        self.worker = worker
        self.started.set()


@asynccontextmanager
async def inside(app: App, db: Path, *, grace_s: float = 0.0, **options: Any) -> AsyncIterator[Inside]:
    """A pool inside the test. It is stopped at the end: handlers that still run are cancelled after the grace."""
    async with await Store.open(db) as store, anyio.create_task_group() as group:
        running = Inside(store, Stop(grace_s, hard_limit_s=5.0))

        async def serve() -> None:
            await run(app, store, stop=running.stop, on_ready=running.ready, **options)
            running.ended.set()

        group.start_soon(serve)
        await running.started.wait()
        try:
            yield running
        finally:
            running.stop.ask("the case is over")

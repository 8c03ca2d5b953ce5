"""Several worker processes under one supervisor: started anew (never forked), restarted, told to stop, never orphaned.

A child's stdin is a pipe that the supervisor holds: when the supervisor is gone, however it ended, the child reads the
end of it and stops in good order. A second signal goes through the same pipe, since two equal signals in a row may
arrive as one. Children have sessions of their own, so that a terminal's Ctrl-C reaches them once, through the
supervisor.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

import anyio
from anyio import Event, create_task_group, move_on_after
from anyio.abc import Process

from runtime.bell import Bell
from runtime.signals import signals_ask
from runtime.stopping import Stop

SUPERVISED = "KEEPSTEP_SUPERVISED"
HURRY = b"!"
LAST_WORD_S = 1.0
SHORTEST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 30.0
SETTLED_S = 60.0
MOST_STARTS = 5
FAULT_EXIT = 1
SECOND_SIGNAL_EXIT = 130
HARD_LIMIT_EXIT = 143

log = logging.getLogger("keepstep.pool")


class CannotStart(Exception):
    """A worker process ended before it served, so starting it again cannot help."""

    def __init__(self, code: int) -> None:
        super().__init__(f"a worker process ended with {_how(code)} before it was ready; its last lines say why")
        self.code = code


class Pool:
    """The supervisor of `count` children that run the same command line."""

    def __init__(self, command: Sequence[str], count: int, *, limit_s: float, ends_by_itself: bool) -> None:
        self._command = list(command)
        self._count = count
        self._limit_s = limit_s
        self._ends_by_itself = ends_by_itself
        self._stop = Stop()
        self._asked = Event()
        self._hurried = Event()
        self._running: dict[int, Process] = {}
        self._ready: set[int] = set()
        self._codes: list[int] = []
        self._said = False
        self._given_up: int | None = None

    async def run(self) -> int:
        """Until every child has ended; returns the exit code."""
        bell = Bell()
        try:
            with signals_ask(self._stop, bell, self._pass_on):
                async with create_task_group() as group:
                    group.start_soon(bell.serve)
                    group.start_soon(self._end_by_force)
                    group.start_soon(self._hurry)
                    async with create_task_group() as children:
                        for number in range(self._count):
                            children.start_soon(self._keep, number)
                    group.cancel_scope.cancel()
        finally:
            bell.close()
        if self._given_up is not None:
            return self._given_up
        if self._stop.at_once:
            self._codes.append(SECOND_SIGNAL_EXIT)
        return max(self._codes, default=0)

    async def _keep(self, number: int) -> None:
        """Keep one child running."""
        failures = 0
        while not self._stop.asked:
            started = time.monotonic()
            code = await self._run_one(number)
            if self._stop.asked or (self._ends_by_itself and code >= 0 and number in self._ready):
                self._codes.append(self._judged(code))
                return
            failures = 0 if time.monotonic() - started > SETTLED_S else failures + 1
            # an exit code is the child's own word; a signal may be somebody's doing, so it is tried a few times more
            if number not in self._ready and (code > 0 or failures >= MOST_STARTS):
                self._give_up(code)
                return
            pause_s = min(LONGEST_PAUSE_S, SHORTEST_PAUSE_S * 2 ** (failures - 1)) if failures else 0.0
            log.error("worker process %d ended with %s, started again in %.1f s", number, _how(code), pause_s)
            with move_on_after(pause_s):
                await self._asked.wait()

    def _judged(self, code: int) -> int:
        """A child's part in the exit code; one that heard it while it did not serve has nothing to answer for."""
        if code == -signal.SIGTERM:
            return 0
        return code if code >= 0 else HARD_LIMIT_EXIT

    async def _run_one(self, number: int) -> int:
        """One child, from its start to its end; negative is a signal's number."""
        environment = os.environ | {SUPERVISED: "1"}
        process = await anyio.open_process(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            env=environment,
            start_new_session=True,
        )
        self._running[number] = process
        try:
            await self._forward(number, process)
            return await process.wait()
        finally:
            del self._running[number]
            if process.returncode is None:
                process.kill()
            with anyio.CancelScope(shield=True):
                await process.aclose()

    async def _forward(self, number: int, process: Process) -> None:
        """A child's stdout is passed on; its `ready` line is taken for itself."""
        assert process.stdout is not None
        begun = b""
        is_ready = False
        async for chunk in process.stdout:
            begun += chunk
            while not is_ready and b"\n" in begun:
                line, end, begun = begun.partition(b"\n")
                is_ready = line.startswith(b"ready ")
                if is_ready:
                    self._is_ready(number)
                else:
                    _write(line + end)
            if is_ready:
                _write(begun)
                begun = b""
        _write(begun)

    def _is_ready(self, number: int) -> None:
        self._ready.add(number)
        log.info("worker process %d is ready", number)
        if len(self._ready) == self._count and not self._said:
            self._said = True
            _write(f"ready processes={self._count} pid={os.getpid()}\n".encode())

    def _give_up(self, code: int) -> None:
        log.error("%s", CannotStart(code))
        self._given_up = code if code > 0 else FAULT_EXIT
        self._stop.note("a worker process cannot start")
        self._signal_all(signal.SIGTERM)
        self._asked.set()

    def _pass_on(self) -> None:
        """A signal came: the children get it as well."""
        log.info("stopping %d worker processes (%s)", len(self._running), self._stop.cause)
        if self._stop.at_once:
            self._hurried.set()
        self._signal_all(signal.SIGTERM)
        self._asked.set()

    async def _hurry(self) -> None:
        """A second signal: each child is told to cancel at once."""
        await self._hurried.wait()
        for process in tuple(self._running.values()):
            assert process.stdin is not None
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await process.stdin.send(HURRY)

    def _signal_all(self, number: signal.Signals) -> None:
        # Popen's own send_signal may reap a child that has just ended, and its exit code is then lost to the loop.
        for process in tuple(self._running.values()):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)

    async def _end_by_force(self) -> None:
        """Children that do not end by themselves within all limits are killed."""
        await self._asked.wait()
        await anyio.sleep(self._limit_s)
        log.error("%d worker processes did not end in time and are killed", len(self._running))
        self._signal_all(signal.SIGKILL)


async def supervise(command: Sequence[str], count: int, *, limit_s: float, ends_by_itself: bool = False) -> int:
    """Run `command` in `count` processes until told to stop; returns the exit code.

    `ends_by_itself`: a child that ends with its own exit code has done its work, and is not started again.
    """
    return await Pool(command, count, limit_s=limit_s, ends_by_itself=ends_by_itself).run()


def stop_with_supervisor(stop: Stop) -> None:
    """In a child: hurry when the supervisor says so, and ask for the end once it is gone, even while a handler blocks
    the event loop."""
    if os.environ.pop(SUPERVISED, None) is None:
        return
    given = os.dup(0)
    os.set_inheritable(given, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)

    def watch() -> None:
        while os.read(given, 1):
            stop.hurry("a second signal")
        stop.ask("the supervisor is gone")
        # what hangs before it serves, in the app's import for one, hears no word: it is given all limits, then ended
        threading.Event().wait(stop.grace_s + stop.hard_limit_s + LAST_WORD_S)
        os._exit(HARD_LIMIT_EXIT)

    threading.Thread(target=watch, name="supervisor watch", daemon=True).start()


def _how(code: int) -> str:
    names = {number.value: number.name for number in signal.Signals}
    return f"exit code {code}" if code >= 0 else f"signal {names.get(-code, -code)}"


def _write(data: bytes) -> None:
    if data:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()

"""Leases, presence and small housekeeping, from a thread with its own loop and its own connection.

A handler that blocks the event loop does not cost its neighbours their leases: claims in flight are renewed four times
per lease, the process says each second that it lives, lapsed leases are swept while every place is busy, and an idle
store's write-ahead file is emptied. The scheduler's set of flights is read directly; a job that is quicker than a
quarter of its lease costs the keeper nothing.
"""

import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import anyio
from anyio import CancelScope, Event, create_task_group, move_on_after
from anyio.abc import TaskGroup

from runtime.bell import Bell
from runtime.faults import Faults
from runtime.flight import Flight
from runtime.places import Places
from runtime.protocol.errors import ItemError
from runtime.protocol.records import Answer, Renewal, Worker
from runtime.protocol.verdicts import Mode, Verdict
from runtime.watchdog import Watchdog

BEAT_S = 1.0
LONGEST_TICK_S = 0.25
RENEWALS_PER_LEASE = 4
TICKS_PER_LEASE = 12
QUIET_S = 2.0
CHECKPOINT_EVERY_S = 60.0

log = logging.getLogger("keepstep.keeper")


class Desk(Protocol):
    """What the keeper needs of a store."""

    async def renew_many(self, items: Sequence[Renewal]) -> list[Answer | ItemError]: ...

    async def announce(self, worker: Worker, *, host: str, pid: int, started_at_ms: int) -> None: ...

    async def withdraw(self, worker: str) -> None: ...

    async def look(self, worker: Worker) -> tuple[Mode, bool, int | None]: ...

    async def sweep(self) -> int: ...

    async def checkpoint(self) -> None: ...

    async def close(self) -> None: ...


class Keeper:
    """`run` is the thread's function; every other method is called from the scheduler's loop.

    `shortest_lease_s` is None on a logical clock, where leases do not run by themselves and nothing is renewed.
    """

    def __init__(
        self,
        open_desk: Callable[[], Awaitable[Desk]],
        worker: Callable[[], Worker],
        places: Places,
        bell: Bell,
        watchdog: Watchdog,
        *,
        shortest_lease_s: float | None,
    ) -> None:
        self._open_desk = open_desk
        self._worker = worker
        self._places = places
        self._bell = bell
        self._own_bell = Bell()
        self._watchdog = watchdog
        self._renews = shortest_lease_s is not None
        self._tick_s = min(LONGEST_TICK_S, (shortest_lease_s or 1e9) / TICKS_PER_LEASE)
        self._opened = Event()
        self._alarm: Event | None = None
        self._resting = False
        self._closing = False
        self._renewing = False
        self._beating = False
        self._beat_at = 0.0
        self._busy_at = time.monotonic()
        self._checkpointed_at = 0.0
        self._started_at_ms = time.time_ns() // 1_000_000
        self._renew_faults = Faults(log, "renewing leases", aside=True)
        self._beat_faults = Faults(log, "saying that this process lives", aside=True)

    async def wait_opened(self) -> None:
        """Until the keeper has its store and has said that this process lives."""
        await self._opened.wait()

    def rouse(self) -> None:
        """There are claims in flight: do not rest."""
        if self._resting:
            self._resting = False
            self._own_bell.call(self._ring)

    def stop(self) -> None:
        """End the thread once what it is doing is done."""
        self._closing = True
        self._own_bell.call(self._ring)

    def run(self) -> None:
        """The thread: its own loop, its own store."""
        anyio.run(self._main)

    def close(self) -> None:
        """Free what it holds, once the thread has ended."""
        self._own_bell.close()

    def _ring(self) -> None:
        if self._alarm is not None:
            self._alarm.set()

    async def _main(self) -> None:
        desk = await self._open_desk()
        try:
            await self._beat(desk)
            async with create_task_group() as group:
                group.start_soon(self._own_bell.serve)
                self._bell.call(self._opened.set)
                while not self._closing:
                    await self._pause()
                    self._tick(desk, group)
                group.cancel_scope.cancel()
        finally:
            with CancelScope(shield=True):
                await self._leave(desk)

    async def _leave(self, desk: Desk) -> None:
        try:
            await desk.withdraw(self._worker().id)
        except Exception as error:
            log.warning("this process could not be taken off the list of live ones, it drops out by itself: %s", error)
        finally:
            await desk.close()

    async def _pause(self) -> None:
        self._alarm = Event()
        self._resting = not self._places.flights
        seconds = max(0.01, self._beat_at - time.monotonic()) if self._resting else self._tick_s
        if not self._closing:
            with move_on_after(seconds):
                await self._alarm.wait()
        self._resting = False

    def _tick(self, desk: Desk, group: TaskGroup) -> None:
        now = time.monotonic()
        if self._places.flights:
            self._busy_at = now
        self._watchdog.tick()
        due = self._due(now)
        if due and not self._renewing:
            self._renewing = True
            group.start_soon(self._renew, desk, due)
        if now >= self._beat_at and not self._beating:
            self._beating = True
            group.start_soon(self._beat, desk)

    def _due(self, now: float) -> list[Flight]:
        if not self._renews:
            return []
        flights = list(self._places.flights)
        return [
            each for each in flights if not each.lost and now >= each.renewed_at + _lease_s(each) / RENEWALS_PER_LEASE
        ]

    async def _renew(self, desk: Desk, flights: list[Flight]) -> None:
        try:
            asked_at = time.monotonic()
            worker = self._worker().id
            answers = await desk.renew_many([Renewal(each.claim.token, worker) for each in flights])
        except Exception as error:
            await anyio.sleep(self._renew_faults.failed(error))
        else:
            self._renew_faults.succeeded()
            for flight, answer in zip(flights, answers, strict=True):
                self._renewed(flight, answer, asked_at)
        finally:
            self._renewing = False

    def _renewed(self, flight: Flight, answer: Any, asked_at: float) -> None:
        flight.renewed_at = asked_at
        if isinstance(answer, ItemError):
            log.error("renewing job %r: %s", flight.claim.token.job, answer)
        elif answer.verdict is not Verdict.RENEWED:
            self._bell.call(self._places.lose, flight, answer.verdict)

    async def _beat(self, desk: Desk) -> None:
        now = time.monotonic()
        self._beat_at = now + BEAT_S
        try:
            worker = self._worker()
            await desk.announce(
                worker, host=socket.gethostname(), pid=os.getpid(), started_at_ms=self._started_at_ms
            )
            if self._renews and not self._places.free:
                await self._sweep(desk, worker)
            if self._is_quiet(now):
                self._checkpointed_at = now
                await desk.checkpoint()
        except Exception as error:
            self._beat_faults.failed(error)
        else:
            self._beat_faults.succeeded()
        finally:
            self._beating = False

    def _is_quiet(self, now: float) -> bool:
        """Whether nothing has run for a while and the write-ahead file was not emptied since, or not for long."""
        since = self._checkpointed_at
        return now - self._busy_at > QUIET_S and (self._busy_at > since or now - since > CHECKPOINT_EVERY_S)

    async def _sweep(self, desk: Desk, worker: Worker) -> None:
        """Every place is busy, so no claim sweeps: what has lapsed is moved here, for others to take."""
        _, _, due = await desk.look(worker)
        if due is not None and due <= time.time_ns() // 1_000_000:
            await desk.sweep()


def _lease_s(flight: Flight) -> float:
    return (flight.claim.lease_until - flight.claim.claimed_at) / 1000

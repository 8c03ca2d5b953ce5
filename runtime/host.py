"""The host: one task group for scheduler, keeper, places and control; the order in which they start and stop.

Start: the keeper opens its store and says that the process lives, then control, then the scheduler's places.
Stop: no more claims; steps finish within the grace while their leases are renewed; then handlers are cancelled and
their claims handed back once they have ended; control and keeper end last. A second signal cancels at once, the hard
limit ends the process whatever handlers do.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial

import msgspec
from anyio import CapacityLimiter, Event, create_task_group, move_on_after, sleep, to_thread

from runtime import keeper as keeping
from runtime.bell import Bell
from runtime.keeper import Keeper
from runtime.protocol.ports import Runner, Warden
from runtime.protocol.verdicts import Mode
from runtime.scheduler import POLL_MS, Scheduler
from runtime.settling import Desk
from runtime.signals import signals_ask
from runtime.stopping import Stop
from runtime.watchdog import Watchdog

log = logging.getLogger("keepstep.host")


class Settings(msgspec.Struct, frozen=True):
    """How a pool runs. `logical`: the store has a logical clock, so nothing is due by waiting and leases do not run.

    `watched`: the file that every write to the store touches.
    """

    concurrency: int = 32
    poll_ms: int = POLL_MS
    max_jobs: int | None = None
    until_idle: bool = False
    logical: bool = False
    watched: str | None = None
    owns_process: bool = False


class Host:
    """One pool in this process: `await Host(…).run()`."""

    def __init__(
        self,
        desk: Desk,
        open_keeper_desk: Callable[[], Awaitable[keeping.Desk]],
        runner: Runner,
        warden: Warden,
        settings: Settings,
        stop: Stop,
        *,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_keeper_desk = open_keeper_desk
        self._runner = runner
        self._warden = warden
        self._settings = settings
        self._stop = stop
        self._on_ready = on_ready
        self._asked = Event()
        self._keeper: Keeper | None = None
        self._scheduler = Scheduler(
            desk,
            runner,
            concurrency=settings.concurrency,
            poll_ms=settings.poll_ms,
            max_jobs=settings.max_jobs,
            until_idle=settings.until_idle,
            watched=settings.watched,
            clock_ms=None if settings.logical else lambda: time.time_ns() // 1_000_000,
            on_mode=self._mode,
            on_claims=self._claimed,
            stop_asked=lambda: bool(stop.asked),
        )

    async def run(self) -> None:
        """Serve until told to stop, idle (if `until_idle`), or at `max_jobs`; raises what ended it otherwise."""
        bell = Bell()
        ring = partial(bell.call, self._asked_again)
        self._stop.listen(ring)
        owned = self._settings.owns_process
        try:
            with signals_ask(self._stop, bell, self._asked_again) if owned else nullcontext():
                await self._serve(bell)
        except BaseExceptionGroup as group:
            raise _sole(group) from group
        finally:
            self._stop.forget(ring)
            bell.close()

    async def _serve(self, bell: Bell) -> None:
        self._keeper = keeper = self._make_keeper(bell)
        try:
            await self._serve_with(keeper, bell)
        finally:
            keeper.close()

    async def _serve_with(self, keeper: Keeper, bell: Bell) -> None:
        async with create_task_group() as group:
            group.start_soon(bell.serve)
            group.start_soon(_in_thread, keeper)
            try:
                await keeper.wait_opened()
                group.start_soon(self._warden.run)
                group.start_soon(self._stopping)
                self._on_ready()
                await self._scheduler.run()
                await self._warden.end()
            finally:
                keeper.stop()
            group.cancel_scope.cancel()

    def _make_keeper(self, bell: Bell) -> Keeper:
        places = self._scheduler.places
        watchdog = Watchdog(
            places, lambda: self._runner.worker, bell, self._stop, owns_process=self._settings.owns_process
        )
        leases = [step.lease for manifest in self._runner.worker.manifests.values() for step in manifest.steps]
        shortest_s = None if self._settings.logical else min(leases, default=30_000) / 1000
        return Keeper(
            self._open_keeper_desk,
            lambda: self._runner.worker,
            places,
            bell,
            watchdog,
            shortest_lease_s=shortest_s,
        )

    def _asked_again(self) -> None:
        self._asked.set()

    async def _stopping(self) -> None:
        """The phases of a stop, one line each."""
        while not self._stop.asked:
            await self._next_ask(None)
        in_flight = len(self._scheduler.places.flights)
        log.info(
            "stopping (%s): no more claims, %d steps in flight have %.1f s to finish",
            self._stop.cause, in_flight, self._stop.grace_s,
        )
        self._scheduler.stop_claiming()
        while (left_s := self._stop.cancel_in_s) is not None and left_s > 0:
            await self._next_ask(left_s)
        running = sum(flight.outcome is None for flight in self._scheduler.places.flights)
        log.info(
            "cancelling %d steps%s; the hard limit is %.1f s away",
            running, " at once" if self._stop.asked > 1 else "", self._stop.hard_limit_s,
        )
        self._scheduler.cancel_all("the pool stops")
        if not self._settings.owns_process:
            # a process of ours is ended by the watchdog; a program's own pool only gives up what it cannot write
            await sleep(self._stop.hard_limit_s)
            self._scheduler.give_up()

    async def _next_ask(self, seconds: float | None) -> None:
        if seconds is None:
            await self._asked.wait()
        else:
            with move_on_after(seconds):
                await self._asked.wait()
        self._asked = Event()

    def _mode(self, mode: Mode) -> None:
        if mode is Mode.DRAINING:
            self._warden.look()

    def _claimed(self) -> None:
        if self._keeper is not None:
            self._keeper.rouse()


async def _in_thread(keeper: Keeper) -> None:
    await to_thread.run_sync(keeper.run, limiter=CapacityLimiter(1))


def _sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error in a group, however deep; the group itself if there are several."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return group if isinstance(error, BaseExceptionGroup) else error

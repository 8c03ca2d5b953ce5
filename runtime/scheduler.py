"""Free places × declared digests → claims → workers; outcomes and the next claim go back in one transaction.

One loop does all the talking to the store. A wake-up (an outcome, a commit of this process, a moved file, the clock)
only sets an event; the loop then looks once at everything. Nothing is claimed ahead: no more claims than free places.
"""

import logging
import time
from collections.abc import Awaitable, Callable

from anyio import CancelScope, Event, create_task_group, move_on_after, sleep
from anyio.lowlevel import checkpoint

from runtime.faults import Faults
from runtime.places import Places
from runtime.protocol.ports import Runner
from runtime.protocol.verdicts import Mode
from runtime.settling import Desk, Settling
from runtime.watch import Watch

POLL_MS = 20
LONGEST_POLL_S = 1.0
WATCHED_POLL_S = 0.25
SHORTEST_LOOK_S = 0.005
VAIN_REST_S = 0.02
GATHERING_ROUNDS = 4
FLUSH_S = 10.0

log = logging.getLogger("keepstep.scheduler")


class Scheduler:
    """The scheduler of one process: `await run()` returns when it was told to end, or has come to its limit.

    `watched` is the file that every write touches: where the system tells of writes, `poll_ms` does not count.
    `clock_ms` is None on a logical clock: then nothing becomes due by waiting. `on_mode` is called with the barrier's
    mode after each look at the store that found nothing in flight here, `on_claims` after claims were handed out. Once
    `stop_asked` nothing is claimed, also before `stop_claiming` was called.
    """

    def __init__(
        self,
        desk: Desk,
        runner: Runner,
        *,
        concurrency: int = 32,
        poll_ms: int = POLL_MS,
        max_jobs: int | None = None,
        until_idle: bool = False,
        clock_ms: Callable[[], int] | None = None,
        watched: str | None = None,
        on_mode: Callable[[Mode], None] = lambda mode: None,
        on_claims: Callable[[], None] = lambda: None,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self.places = Places(runner, concurrency, self.wake)
        self.mode = Mode.OPEN
        self._settling = Settling(desk, runner, self.places)
        self._desk = desk
        self._runner = runner
        self._poll_s = poll_ms / 1000
        self._max_jobs = max_jobs
        self._until_idle = until_idle
        self._clock_ms = clock_ms
        self._on_mode = on_mode
        self._on_claims = on_claims
        self._stop_asked = stop_asked
        self._faults = Faults(log, "serving the store")
        self._event = Event()
        self._awake = False
        self._claiming = True
        self._given_up = False
        self._hungry = True
        self._looking = False
        self._in_settle = False
        self._commits = 0
        self._next_due: int | None = None
        self._rest_until = 0.0
        self._look_after = 0.0
        self._watched = watched
        self._watch: Watch | None = None

    def wake(self) -> None:
        """Look at everything once more."""
        if not self._awake:
            self._awake = True
            self._event.set()

    def stop_claiming(self) -> None:
        """Let what is in flight finish, then end."""
        self._claiming = False
        self.wake()

    def cancel_all(self, why: str) -> None:
        """Cancel every handler; their claims are handed back once the handlers have ended."""
        self._claiming = False
        self.places.cancel_all(why)
        self.wake()

    def give_up(self) -> None:
        """End although outcomes could not be written; their leases will lapse."""
        self._claiming = False
        self._given_up = True
        self.wake()

    async def run(self) -> None:
        """Serve until told to end; raises the store's error when it cannot be served any more."""
        unsubscribe = self._desk.subscribe(self._committed)
        if self._watched is not None:
            self._watch = Watch.on(self._watched, self.wake)
        fatal: Exception | None = None
        try:
            async with create_task_group() as group:
                self.places.start(group)
                if self._watch is not None:
                    group.start_soon(self._watch.serve, name="watch")
                try:
                    await self._loop()
                except Exception as error:
                    fatal = error
                    self.places.cancel_all("the store failed")
                group.cancel_scope.cancel()
        finally:
            unsubscribe()
            if self._watch is not None:
                self._watch.close()
            self._claiming = False
            with CancelScope(shield=True), move_on_after(FLUSH_S):
                await self._flush()
        if fatal is not None:
            raise fatal

    async def _flush(self) -> None:
        """Write what is left when the pool was cancelled from outside; what cannot be written lapses with its lease."""
        if self._given_up and (left := len(self.places.outcomes)):
            log.error("the outcomes of %d attempts could not be written, their leases will lapse", left)
            return
        while self.places.outcomes:
            known = len(self.places.outcomes)
            try:
                await self._settle()
            except Exception as error:
                log.error("%d outcomes could not be written, their leases will lapse: %s", known, error)
                return

    async def _loop(self) -> None:
        while True:
            if self.places.outcomes and not self._given_up:
                await self._gather()
                await self._talk(self._settle)
            elif self._hungry and self._limit() > 0:
                await self._talk(self._settle)
            elif self._finished():
                return
            elif self._looks_due():
                await self._talk(self._look)
            else:
                await self._wait()

    async def _talk(self, turn: Callable[[], Awaitable[None]]) -> None:
        """One talk to the store; a store that fails is tried again at most once a second."""
        try:
            await turn()
        except Exception as error:
            await sleep(self._faults.failed(error))
        else:
            self._faults.succeeded()

    async def _gather(self) -> None:
        """Let outcomes that become ready in the same rounds of the loop join one settle."""
        known = 0
        for _ in range(GATHERING_ROUNDS):
            ready = len(self.places.outcomes)
            if ready in (known, len(self.places.flights)):
                return
            known = ready
            await checkpoint()

    def _limit(self) -> int:
        if not self._claiming or self.mode is Mode.PAUSED or self._stop_asked():
            return 0
        free = self.places.free
        if self._max_jobs is None:
            return free
        return min(free, self._max_jobs - self._settling.ended_jobs - len(self.places.flights))

    def _finished(self) -> bool:
        if any(flight.outcome is None or not self._given_up for flight in self.places.flights):
            return False
        if not self._claiming:
            return True
        if self._max_jobs is not None and self._settling.ended_jobs >= self._max_jobs:
            return True
        return self._until_idle and not self._looking and not self._overdue()

    async def _settle(self) -> None:
        limit = self._limit()
        vain = not self.places.outcomes
        before = self._commits
        self._in_settle = True
        try:
            claims = await self._settling.settle(limit)
        finally:
            self._in_settle = False
        # one commit is this settle's own, and its claim has seen whatever came before it
        if self._commits - before > 1:
            self._looking = True
        if claims is not None:
            self.mode = claims.mode
            self._next_due = claims.next_due
            self._hungry = len(claims.claims) == limit
            if claims.claims:
                self._on_claims()
            elif vain:
                # a look had promised something: others are quicker, or only a sweep can tell
                self._rest_until = time.monotonic() + VAIN_REST_S
        if not self.places.flights:
            self._on_mode(self.mode)

    async def _look(self) -> None:
        self._looking = False
        try:
            self.mode, claimable, self._next_due = await self._desk.look(self._runner.worker)
        except BaseException:
            self._looking = True
            raise
        self._hungry = claimable or self._overdue()
        if not self._hungry and not self.places.flights:
            self._on_mode(self.mode)

    def _looks_due(self) -> bool:
        """Whether something may have become claimable since the last answer."""
        now = time.monotonic()
        if not self.places.free or not self._claiming or now < self._rest_until:
            return False
        if self._looking or self._overdue():
            return True
        if now < self._look_after or not self._desk.moved():
            return False
        self._look_after = now + SHORTEST_LOOK_S
        return True

    def _overdue(self) -> bool:
        return self._clock_ms is not None and self._next_due is not None and self._next_due <= self._clock_ms()

    async def _wait(self) -> None:
        if self.places.free and self._claiming:
            now = time.monotonic()
            resting_s = max(self._rest_until, self._look_after) - now
            if self._watch is not None and resting_s <= 0:
                self._watch.arm()
            with move_on_after(resting_s if resting_s > 0 else self._patience_s()):
                await self._event.wait()
        else:
            await self._event.wait()
        if self._awake:
            self._awake = False
            self._event = Event()

    def _patience_s(self) -> float:
        """How long nothing may be looked at; the clock's next act is not slept over."""
        patience_s = self._poll_s if self._watch is None else WATCHED_POLL_S
        if self.mode is Mode.PAUSED:
            patience_s = LONGEST_POLL_S
        if self._clock_ms is not None and self._next_due is not None:
            patience_s = min(patience_s, max(0.0, (self._next_due - self._clock_ms()) / 1000))
        return max(patience_s, 0.001)

    def _committed(self) -> None:
        self._commits += 1
        if not self._in_settle:
            self._looking = True
            self._rest_until = 0.0
            self.wake()

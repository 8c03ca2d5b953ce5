"""The places of a pool: long-lived tasks, each of which runs one attempt at a time.

What is handed out lies in one queue. A place that wakes takes from it for as long as there is something, so handlers
that never wait are run by one place in a row, without a switch of tasks between them; as soon as one waits, the places
that were woken behind it go on.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from anyio import CancelScope, Event, current_effective_deadline, get_cancelled_exc_class
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from runtime.flight import Flight, naming, words
from runtime.protocol.ports import Outcome, Runner
from runtime.protocol.records import Callback, Claim
from runtime.protocol.verdicts import Verdict

LEFT_OPEN = "the handler left a cancel scope or a task group open (or an async generator that holds one)"
CANCELLED = "the pool was cancelled"
WOKEN_BY_ONE = 2

log = logging.getLogger("keepstep.scheduler")


class Place:
    """Room for one attempt."""

    __slots__ = ("flight", "wake")

    def __init__(self) -> None:
        self.flight: Flight | None = None
        self.wake = Event()


class Places:
    """All places of a process, what is in flight, and the outcomes that wait to be settled.

    A place is free again as soon as its handler has ended; the outcome goes into the settle that claims for the place.
    `free` counts the places that can be given a claim.
    """

    def __init__(self, runner: Runner, count: int, wake: Callable[[], None]) -> None:
        self.flights: set[Flight] = set()
        self.outcomes: list[Flight] = []
        self.free = count
        self._count = count
        self._given: deque[Flight] = deque()
        self._idle: list[Place] = []
        self._runner = runner
        self._wake = wake
        self._stopping: str | None = None

    def start(self, group: TaskGroup) -> None:
        """Start one task per place."""
        for number in range(self._count):
            group.start_soon(self._serve, Place(), name=f"place {number}")

    def give(self, claims: Sequence[Claim]) -> None:
        """Hand claims to free places; there are never more claims than free places."""
        for claim in claims:
            flight = Flight(claim)
            flight.stopped = self._stopping
            self.flights.add(flight)
            self._given.append(flight)
        self.free -= len(claims)
        self._rouse(min(1, len(claims)))

    def cancel_all(self, why: str) -> None:
        """Cancel every handler, since the pool stops."""
        self._stopping = why
        for flight in tuple(self.flights):
            if flight.outcome is None and flight.stopped is None and not flight.cancelled:
                flight.stopped = why
                flight.cancel()

    def lose(self, flight: Flight, verdict: Verdict) -> None:
        """A renewal was refused: cancel the handler, unless its outcome is known or already written."""
        if flight not in self.flights or flight.outcome is not None or flight.lost:
            return
        flight.lost = flight.quiet = True
        worker = self._runner.worker
        text = "%s: its claim is %s, the handler is cancelled"
        log.warning(text, words(flight.claim, worker), verdict, extra=naming(flight.claim, worker))
        flight.cancel()

    def _rouse(self, most: int) -> None:
        for _ in range(min(most, len(self._idle))):
            self._idle.pop().wake.set()

    async def _serve(self, place: Place) -> None:
        """One task for good. A cancellation that is not the pool's own was left by a handler, and ends nothing."""
        while True:
            try:
                await self._row(place)
            except get_cancelled_exc_class():
                if is_cancelled():
                    self._abandon(place)
                    raise
                with suppress(ValueError):
                    self._idle.remove(place)

    async def _row(self, place: Place) -> None:
        """Wait for claims, then attempts for as long as there are any."""
        while not self._given:
            place.wake = Event()
            self._idle.append(place)
            await place.wake.wait()
        await checkpoint_if_cancelled()
        # one that begins while nothing is under way wakes one, any other wakes two: so all stand within a few rounds of
        # the loop, and a row that one place can run alone costs one vain wake-up or two, and not one for each claim
        others_wait = self.free + len(self._given) < self._count
        self._rouse(min(WOKEN_BY_ONE if others_wait else 1, len(self._given) - 1))
        if not await self._attempts(place):
            # a cancellation that a handler has left pending on this task comes out here and not in the next attempt
            await checkpoint()

    async def _attempts(self, place: Place) -> bool:
        """Attempts in one scope, which is left after one that was cancelled or has left something behind in it; whether
        none of them was."""
        left_open = False
        scope = CancelScope()
        try:
            with scope:
                await self._work(place, scope)
        except RuntimeError:
            left_open = True
            unwind(scope)
        except get_cancelled_exc_class():
            # anyio lets its own cancellation out beside a native one that a handler has left on its task
            if is_cancelled():
                raise
        flight = place.flight
        if flight is None:
            return True
        if flight.outcome is None and is_cancelled():
            flight.stopped = flight.stopped or CANCELLED
        if flight.outcome is None and scope.cancel_called and flight.stopped is None and not flight.lost:
            flight.outcome = self._runner.overdue(flight.claim)
        elif left_open and not (flight.outcome is None and (flight.lost or flight.stopped is not None)):
            flight.outcome = self._runner.failed(flight.claim, LEFT_OPEN)
        self._over(place, flight)
        return False

    async def _work(self, place: Place, scope: CancelScope) -> None:
        """Attempts, one after another, for as long as there are claims and the scope can be used again."""
        run = self._runner.run
        while self._given:
            flight = place.flight = self._given.popleft()
            if flight.lost or flight.stopped is not None:
                return
            flight.scope = scope
            try:
                flight.outcome = await run(flight.claim, scope)
            except Exception as error:
                worker = self._runner.worker
                log.exception("%s: the runner failed", words(flight.claim, worker), extra=naming(flight.claim, worker))
                reason = f"the runner failed: {type(error).__name__}: {error}"
                flight.outcome = Outcome("fail", Callback(flight.claim.token, reason, self._runner.worker.id))
            if scope.cancel_called or not is_clean(scope):
                return
            self._over(place, flight)

    def _over(self, place: Place, flight: Flight) -> None:
        """The handler has ended: its place is free, and its outcome waits to be settled."""
        place.flight = None
        self.free += 1
        given_up = flight.outcome is None
        if given_up:
            why = flight.stopped or self._stopping or "the attempt was cancelled"
            flight.outcome = self._runner.abandoned(flight.claim, why)
        if given_up and flight.lost:
            # the store would refuse the outcome; the runner was asked for it, and so forgets the attempt
            self.flights.discard(flight)
        else:
            self.outcomes.append(flight)
        self._wake()

    def _abandon(self, place: Place) -> None:
        """The pool was cancelled from outside: what is in flight is handed back, also what no place has begun."""
        if place.flight is not None:
            self._given.appendleft(place.flight)
        while self._given:
            flight = self._given.popleft()
            flight.stopped = flight.stopped or CANCELLED
            self._over(place, flight)


def is_cancelled() -> bool:
    """Whether the task that asks is being cancelled by a scope around it."""
    return current_effective_deadline() == -math.inf


def is_clean(scope: CancelScope) -> bool:
    """Whether nothing was left behind in a scope: nothing open, no native cancellation of its task.

    anyio has no public way to tell; where this one is gone the answer is no, every attempt has a scope of its own, and
    leaving that one tells.
    """
    known: Any = scope
    try:
        return not known._child_scopes and known._host_task.cancelling() == known._cancelling_at_enter
    except AttributeError:
        return False


def unwind(scope: CancelScope) -> None:
    """Cancel and leave the scopes that a handler left open, innermost first, so that its task can be used again.

    anyio has no public way to find them; where this one is gone the error of the scope outside reports the fault.
    """
    for inner in tuple(getattr(scope, "_child_scopes", ())):
        inner.cancel()
        unwind(inner)
    with suppress(RuntimeError):
        scope.__exit__(None, None, None)

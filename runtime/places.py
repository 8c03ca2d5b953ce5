"""The places of a pool: one long-lived task each, which runs one attempt at a time."""

import logging
from collections.abc import Callable, Sequence

from anyio import CancelScope, Event, get_cancelled_exc_class
from anyio.abc import TaskGroup

from runtime.flight import Flight, naming, words
from runtime.protocol.ports import Outcome, Runner
from runtime.protocol.records import Callback, Claim
from runtime.protocol.verdicts import Verdict

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
    """

    def __init__(self, runner: Runner, count: int, wake: Callable[[], None]) -> None:
        self.flights: set[Flight] = set()
        self.outcomes: list[Flight] = []
        self.free: list[Place] = [Place() for _ in range(count)]
        self._runner = runner
        self._wake = wake
        self._stopping: str | None = None

    def start(self, group: TaskGroup) -> None:
        """Start one task per place."""
        for number, place in enumerate(self.free):
            group.start_soon(self._serve, place, name=f"place {number}")

    def give(self, claims: Sequence[Claim]) -> None:
        """Hand claims to free places; there are never more claims than free places."""
        for claim in claims:
            flight = Flight(claim)
            flight.stopped = self._stopping
            self.flights.add(flight)
            place = self.free.pop()
            place.flight = flight
            place.wake.set()

    def cancel_all(self, why: str) -> None:
        """Cancel every handler, since the pool stops."""
        self._stopping = why
        for flight in tuple(self.flights):
            if flight.outcome is None and flight.stopped is None:
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

    async def _serve(self, place: Place) -> None:
        """One task for good. Its scope is made anew only after an attempt was cancelled."""
        while True:
            try:
                with CancelScope() as scope:
                    await self._work(place, scope)
            except get_cancelled_exc_class():
                if place.flight is not None:
                    place.flight.stopped = place.flight.stopped or "the pool was cancelled"
                    self._over(place, place.flight)
                raise
            if place.flight is not None:
                self._over(place, place.flight)

    async def _work(self, place: Place, scope: CancelScope) -> None:
        """Attempts, one after another, until one of them is cancelled."""
        run = self._runner.run
        while not scope.cancel_called:
            await place.wake.wait()
            flight = place.flight
            assert flight is not None
            if flight.lost or flight.stopped is not None:
                return
            flight.scope = scope
            try:
                flight.outcome = await run(flight.claim)
            except Exception as error:
                worker = self._runner.worker
                log.exception("%s: the runner failed", words(flight.claim, worker), extra=naming(flight.claim, worker))
                reason = f"the runner failed: {type(error).__name__}: {error}"
                flight.outcome = Outcome("fail", Callback(flight.claim.token, reason, self._runner.worker.id))
            self._over(place, flight)

    def _over(self, place: Place, flight: Flight) -> None:
        """The handler has ended: its place is free, and its outcome waits to be settled."""
        place.flight = None
        place.wake = Event()
        self.free.append(place)
        if flight.outcome is None and flight.lost:
            self.flights.discard(flight)
        else:
            if flight.outcome is None:
                why = flight.stopped or self._stopping or "the attempt was cancelled"
                flight.outcome = self._runner.abandoned(flight.claim, why)
            self.outcomes.append(flight)
        self._wake()

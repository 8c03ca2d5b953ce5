"""Settling: every outcome that is ready and the next claim go to the store in one transaction."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from runtime.flight import Flight, naming, words
from runtime.places import Places
from runtime.protocol.errors import ItemError
from runtime.protocol.ports import Runner
from runtime.protocol.records import Answer, Callback, ClaimRequest, Claims, Commit, Worker
from runtime.protocol.verdicts import Mode, Verdict

REFUSED = frozenset({Verdict.STALE, Verdict.EXPIRED, Verdict.UNKNOWN})
ENDED = frozenset({Verdict.DONE, Verdict.QUARANTINED})
ROOMS = {"commit_step": "commits", "fail": "failures", "release": "releases", "quarantine": "quarantines"}

log = logging.getLogger("keepstep.scheduler")


class Desk(Protocol):
    """What the scheduler needs of a store."""

    async def settle(
        self,
        *,
        commits: Sequence[Commit] = (),
        failures: Sequence[Callback] = (),
        releases: Sequence[Callback] = (),
        quarantines: Sequence[Callback] = (),
        claim: ClaimRequest | None = None,
    ) -> tuple[Mapping[str, list[Any]], Claims | None]:
        """Outcomes, then a claim, in one transaction; answers by verb, in the order given."""

    async def look(self, worker: Worker) -> tuple[Mode, bool, int | None]:
        """The mode, whether something can be claimed now, and when the clock next acts on a job; a read."""

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after each commit of this process; returns how to stop that."""

    def moved(self) -> bool:
        """Whether another connection has written since the last call."""


class Settling:
    """Sends outcomes and claims, and reads the answers."""

    def __init__(self, desk: Desk, runner: Runner, places: Places) -> None:
        self.ended_jobs = 0
        self._desk = desk
        self._runner = runner
        self._places = places

    async def settle(self, limit: int) -> Claims | None:
        """Send every outcome that is ready and ask for up to `limit` claims, which are handed to the places.

        Outcomes that could not be written stay, and the error is raised.
        """
        places = self._places
        flights, places.outcomes = places.outcomes, []
        groups: dict[str, list[Flight]] = {}
        for flight in flights:
            groups.setdefault(flight.outcome.verb, []).append(flight)  # type: ignore[union-attr]
        items: dict[str, Any] = {ROOMS[verb]: [each.outcome.item for each in of] for verb, of in groups.items()}  # type: ignore[union-attr]
        if limit > 0:
            items["claim"] = ClaimRequest(limit, self._runner.worker)
        try:
            answers, claims = await self._desk.settle(**items)
        except BaseException:
            # they may have been written; then a second delivery is `stale` and changes nothing
            self._keep(flights)
            raise
        broken = [self._answered(of, answers[verb]) for verb, of in groups.items()]
        if claims is not None:
            places.give(claims.claims)
        for error in broken:
            if error is not None:
                raise error
        return claims

    def _answered(self, flights: Sequence[Flight], answers: Sequence[Any]) -> BaseException | None:
        broken = None
        for flight, answer in zip(flights, answers, strict=True):
            if type(answer) is Answer:
                self._places.flights.discard(flight)
                if answer.verdict in ENDED:
                    self.ended_jobs += 1
                elif answer.verdict in REFUSED and not flight.quiet:
                    text = "%s: its outcome came too late (%s), nothing was written"
                    worker = self._runner.worker
                    log.warning(text, words(flight.claim, worker), answer.verdict, extra=naming(flight.claim, worker))
            elif isinstance(answer, ItemError):
                self._follow(flight, answer)
            else:
                broken = answer
                self._keep([flight])
        return broken

    def _follow(self, flight: Flight, error: ItemError) -> None:
        """An item's own fault leads to another outcome, or to none."""
        worker = self._runner.worker
        log.error("%s: %s", words(flight.claim, worker), error, extra=naming(flight.claim, worker))
        assert flight.outcome is not None
        follow = self._runner.after(flight.claim, flight.outcome, error)
        if follow is None:
            self._places.flights.discard(flight)
        else:
            flight.outcome = follow
            self._places.outcomes.append(flight)

    def _keep(self, flights: Sequence[Flight]) -> None:
        for flight in flights:
            flight.quiet = True
        self._places.outcomes.extend(flights)

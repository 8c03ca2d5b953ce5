"""Backoff: delays of jobs and waits of idle workers, however long it goes on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import pytest

from runtime import scheduler
from runtime.protocol.ports import Outcome, Scope
from runtime.protocol.records import Answer, Callback, Claim, ClaimRequest, Claims, Commit, Token, Worker
from runtime.protocol.retry import backoff
from runtime.protocol.verdicts import Mode, Verdict
from runtime.scheduler import FLUSH_S, LONGEST_POLL_S, POLL_MS, Scheduler

POLLS = 100_000


def test_c26_the_delay_grows_to_its_ceiling_and_stays_there() -> None:
    delays = [backoff(attempts, 1, 300) for attempts in range(1, 10_001)]
    assert delays[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert set(delays[9:]) == {300}
    assert all(type(delay) is int for delay in delays)


class Idle:
    """A store and a runner in which nothing happens for a long time, then one job."""

    def __init__(self) -> None:
        self.polls = 0
        self.started_at: int | None = None
        self.worker = Worker("w")
        self.claim = Claim(Token("J", 0, 1, 0, "d"), "w", None, 1, "1", 1, 1, 0, 10**15, 1)
        self.stop: Callable[[], None] = lambda: None

    # the store

    def moved(self) -> bool:
        self.polls += 1
        if self.polls == POLLS + 50:
            self.stop()
        return self.polls == POLLS

    async def look(self, worker: Worker) -> tuple[Mode, bool, int | None]:
        return Mode.OPEN, self.polls == POLLS, None

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    async def settle(
        self, *, commits: Sequence[Commit] = (), claim: ClaimRequest | None = None, **_: Any
    ) -> tuple[Mapping[str, list[Any]], Claims | None]:
        found = (self.claim,) if self.polls == POLLS and claim is not None and not commits else ()
        claims = Claims(Mode.OPEN, 0, found) if claim is not None else None
        return {"commit_step": [Answer(Verdict.DONE)] * len(commits)}, claims

    # the runner

    async def run(self, claim: Claim, scope: Scope) -> Outcome:
        self.started_at = self.polls
        return Outcome("commit_step", Commit(claim.token, 1, self.worker))

    def abandoned(self, claim: Claim, reason: str) -> Outcome:
        return Outcome("release", Callback(claim.token, reason))

    def overdue(self, claim: Claim) -> Outcome:
        raise AssertionError("the step has no time limit")

    def failed(self, claim: Claim, reason: str) -> Outcome:
        raise AssertionError(reason)

    def after(self, claim: Claim, outcome: Outcome, error: Exception) -> None:
        return None


async def test_c27_an_idle_worker_polls_for_ever_at_the_same_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def at_once(delay: float) -> anyio.CancelScope:
        if delay != FLUSH_S:  # the deadline for the last outcomes, no wait
            waits.append(delay)
        return anyio.move_on_after(0)

    monkeypatch.setattr(scheduler, "move_on_after", at_once)
    idle = Idle()
    pool = Scheduler(idle, idle, concurrency=1, clock_ms=lambda: 0)
    idle.stop = pool.stop_claiming
    await pool.run()
    assert idle.started_at == POLLS
    assert len(waits) >= POLLS
    assert max(waits) <= LONGEST_POLL_S
    assert max(waits[10:]) <= POLL_MS / 1000
    assert {round(wait, 6) for wait in waits[-40:]} == {POLL_MS / 1000}

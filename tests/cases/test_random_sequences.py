"""Attempt count, over random sequences: no job ends in a state that nothing would move.

200 sequences are tried, each in a file of its own; `-n 2` shares them between two processes. The long mode:

    KEEPSTEP_SEQUENCES=10000 python -m pytest tests/cases/test_random_sequences.py -n 2
"""

import os
import random
from pathlib import Path
from typing import Any

import pytest

from control.explain import why_drain
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Token, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store
from tests.cases.looking import count, define
from tests.crash.invariants import check

SEQUENCES = int(os.environ.get("KEEPSTEP_SEQUENCES", "200"))
PARTS = 8
MOVES = 36
JOBS = 8
WHY = "tried at random"


def manifest(name: str, budget: int, lapse: OnLapse, *steps: str) -> Manifest:
    """A definition in which everything happens soon."""
    policy: dict[str, Any] = {"budget": budget, "base": 2, "ceiling": 4, "lease": 3, "time_limit": 10}
    return Manifest(name, "cases/1", tuple(Step(step, "any", on_lapse=lapse, **policy) for step in steps))


OLD = [manifest("w", budget, lapse, "one", "two") for budget, lapse in ((1, OnLapse.RETRY), (2, OnLapse.HOLD))]
NEW = [manifest("w", budget, lapse, "two", "one") for budget, lapse in ((3, OnLapse.RETRY), (4, OnLapse.HOLD))]
MANIFESTS = OLD + NEW
WORKER = Worker.declaring("w", *MANIFESTS)


class Sequence:
    """One random sequence over one store."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.random = random.Random(seed)
        self.now = 0
        self.tokens: list[Token] = []
        self.admitted = 0
        self.revision = 1

    async def move(self) -> None:
        """One of the moves, on a job chosen at random; most of what it asks for is allowed, some of it is refused."""
        likely = [self.admit, self.claim, self.commit]
        others = [self.fail, self.lapse, self.quarantine, self.redrive, self.recover, self.migrate, self.switch]
        moves = likely * 4 + [self.fail, self.lapse, self.redrive] * 2 + others
        await self.random.choice(moves)()

    async def admit(self) -> None:
        if self.admitted < JOBS:
            self.admitted += 1
            flow = self.random.choice(("a", "b", "free", None))
            await self.store.admit(
                "w", f"job-{self.admitted}", 1, flow=flow, width=2 if flow == "free" else None, now=self.now
            )

    async def claim(self) -> None:
        claims = (await self.store.claim(self.random.randint(1, 3), WORKER, now=self.now)).claims
        self.tokens += [claim.token for claim in claims]

    def token(self) -> Token | None:
        """One of the newest tokens; an old one now and then."""
        return self.random.choice(self.tokens[-4:]) if self.tokens else None

    async def commit(self) -> None:
        if token := self.token():
            await self.store.commit_step(token, 1, worker=WORKER, now=self.now)

    async def fail(self) -> None:
        if token := self.token():
            await self.store.fail(token, WHY, now=self.now)

    async def lapse(self) -> None:
        self.now += self.random.choice((1, 1, 2, 4, 8))

    async def quarantine(self) -> None:
        token = self.token()
        if token and self.random.random() < 0.5:
            await self.store.quarantine(token, WHY, now=self.now)
        elif job := await self.any_job():
            await self.store.quarantine_job(job.id, job.generation, WHY, now=self.now)

    async def redrive(self) -> None:
        if job := await self.any_job("quarantined"):
            await self.store.redrive(job.id, job.generation, WHY, now=self.now)

    async def recover(self) -> None:
        if job := await self.any_job("inflight"):
            await self.store.recover(job.id, job.generation, WHY, now=self.now)

    async def migrate(self) -> None:
        if job := await self.any_job("ready"):
            to = self.random.choice(MANIFESTS).digest
            await self.store.migrate(job.id, job.binding_revision, to, WHY, effects_checked=True, now=self.now)

    async def switch(self) -> None:
        if (await self.store.switch(self.random.choice(MANIFESTS).digest, self.revision)).verdict == "switched":
            self.revision += 1

    async def any_job(self, state: str | None = None) -> Any:
        """A job, in that state if it is given; None if there is none."""
        jobs = await self.store.jobs(state=state)
        return self.random.choice(jobs) if jobs else None


async def nothing_is_stuck(sequence: Sequence) -> None:
    """Every unfinished job has a cause that names what would move it, and a cause that says `claim` is claimed."""
    store = sequence.store
    await store.sweep(now=sequence.now)
    unfinished = await count(store, "ready", "waiting", "inflight", "quarantined")
    why = await why_drain(store)
    assert len(why.jobs) == unfinished
    assert sum(cause.jobs for cause in why.causes) == unfinished
    assert all(waiting.text and waiting.next for waiting in why.jobs)
    claimable = {one.job.job: one for one in why.jobs if one.job.cause == "ready"}
    taken: set[str] = set()
    while claims := (await store.claim(1, WORKER, now=sequence.now)).claims:
        taken.add(claims[0].token.job)
    left = {name for name in claimable if name not in taken}
    assert all(claimable[name].job.flow == "free" for name in left), f"ready, and no claim took {left}"
    causes = {one.job.job: one.job.cause for one in (await why_drain(store)).jobs}
    assert all(causes[name] == "full" for name in left), f"no place of its flow is taken for {left}"
    assert "ready" not in causes.values()


@pytest.mark.timeout(60 + SEQUENCES)
@pytest.mark.parametrize("part", range(PARTS))
async def test_c24_nothing_ends_in_a_state_that_nothing_moves(tmp_path: Path, part: int) -> None:
    for seed in range(part, SEQUENCES, PARTS):
        path = tmp_path / f"{seed}.db"
        async with await Store.open(path, clock="logical", durability="normal") as store:
            await store.register_many(MANIFESTS)
            await define(store, OLD[0])
            await store.announce(WORKER, host="here", pid=1, started_at_ms=0)
            sequence = Sequence(store, seed)
            for _ in range(MOVES):
                await sequence.move()
            await nothing_is_stuck(sequence)
            assert check(path) == [], f"sequence {seed}"
        for file in (path, *path.parent.glob(f"{seed}.db-*")):
            file.unlink()

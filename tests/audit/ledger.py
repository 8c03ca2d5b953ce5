"""What must hold in a store after every operation, asked of public reads only; and the definitions that are audited."""

from typing import Any

from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import JobRecord, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store

ACTS = frozenset({"redrive", "recover", "quarantine_job", "migrate"})


def step(name: str, lapse: OnLapse = OnLapse.RETRY, **params: int) -> Step:
    """A step with the documents' policy."""
    return Step(name, "credit", dict(params), budget=3, base=2, ceiling=8, lease=5, time_limit=1_000, on_lapse=lapse)


V1 = Manifest("points", "local-ledger/1", (step("base", per_unit=1), step("bonus", flat=1)))
V2 = Manifest("points", "local-ledger/1", (step("bonus", OnLapse.HOLD, flat=3), step("base", per_unit=1)))
V3 = Manifest("points", "local-ledger/1", (step("base", OnLapse.HOLD, per_unit=2),))
BOTH = Worker.declaring("both", V1, V2, V3)
OLD = Worker.declaring("old", V1)
NEW = Worker.declaring("new", V2, V3)
UNITS = 10
TOTALS = {V1.digest: 11, V2.digest: 13, V3.digest: 20}


def value(digest: str, cursor: int) -> int:
    """What a step credits for `UNITS` units."""
    params = BOTH.manifests[digest].steps[cursor].params
    return int(params.get("per_unit", 0)) * UNITS + int(params.get("flat", 0))


class Broken(AssertionError):
    """An invariant does not hold."""


class Ledger:
    """Remembers what was seen of each job, and compares."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.jobs: dict[str, JobRecord] = {}
        self.checks = 0

    async def check(self, spot: int = 0) -> None:
        """Every job against what was seen before; effects and audit of those that changed and of one more."""
        control = await self.store.control()
        jobs = await self.store.jobs(limit=100_000)
        for number, job in enumerate(jobs):
            before = self.jobs.get(job.id)
            self._monotone(before, job)
            if job != before or number == spot % len(jobs):
                await self._effects(job)
                await self._acts(job)
            self.jobs[job.id] = job
        _holds(self.jobs.keys() == {job.id for job in jobs}, "an accepted job never disappears", sorted(self.jobs))
        tickets = sum(job.lifetime_attempts for job in jobs)
        _holds(tickets == control.ticket, "lifetime attempts add up to the ticket", (tickets, control.ticket))
        written = sum(job.cursor for job in jobs)
        _holds(written == control.effects, "as many effects as committed steps", (written, control.effects))
        places: dict[str, list[int]] = {}
        for job in jobs:
            places.setdefault(job.flow or f"the flow of {job.id} alone", []).append(job.seq)
        gapless = all(sorted(seqs) == list(range(1, len(seqs) + 1)) for seqs in places.values())
        _holds(gapless, "sequence numbers of a flow are 1, 2, 3, without a gap", places)
        unfinished = sum(job.state != "done" for job in jobs)
        _holds(unfinished == control.unfinished, "unfinished adds up", (unfinished, control.unfinished))
        _holds(control.mode != "paused" or not unfinished, "paused means nothing unfinished", unfinished)
        self.checks += 1

    def _monotone(self, before: JobRecord | None, job: JobRecord) -> None:
        if before is None:
            return
        _holds(job.accepted_digest == before.accepted_digest, "the accepted digest never changes", (before, job))
        _holds(job.generation >= before.generation, "generation never falls", (before, job))
        _holds(job.lifetime_attempts >= before.lifetime_attempts, "lifetime attempts never fall", (before, job))
        _holds(job.cursor >= before.cursor, "the cursor never falls", (before, job))
        _holds(before.state != "done" or job == before, "a done job never changes", (before, job))

    async def _effects(self, job: JobRecord) -> None:
        effects = await self.store.effects(job.id)
        steps = [effect.step for effect in effects]
        _holds(steps == list(range(job.cursor)), "effects are 0..cursor-1", (job, effects))
        digests = {effect.digest for effect in effects}
        _holds(digests <= {job.current_digest}, "every effect's digest is the job's current digest", (job, digests))
        if job.state == "done":
            total = sum(effect.value for effect in effects)
            _holds(total == TOTALS[job.current_digest], "a done job has its list's total", (job, total))

    async def _acts(self, job: JobRecord) -> None:
        acts = [act for act in await self.store.audit(job.id) if act.verb in ACTS]
        generation = job.lifetime_attempts + len(acts)
        _holds(job.generation == generation, "generation = lifetime attempts + audited acts", (job, acts))
        links = [(act.before["digest"], act.after["digest"]) for act in acts if act.verb == "migrate"]
        _holds(len(links) == job.binding_revision, "migrations = binding revision", (job, links))
        chain = [job.accepted_digest, *(after for _, after in links)]
        joined = [before for before, _ in links] == chain[:-1] and chain[-1] == job.current_digest
        _holds(joined, "the migrations join accepted to current", (job, links))


def _holds(right: bool, sentence: str, seen: Any) -> None:
    if not right:
        raise Broken(f"{sentence}: {seen}")

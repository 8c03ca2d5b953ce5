"""Why is it waiting: a job, a flow, a drain, a definition. Every blocker by name and cause, as of one moment."""

from collections.abc import Sequence

from msgspec.structs import replace

from control.causes import MEANING, ORDER, advice, sentence
from control.find import digest_of
from control.times import Clock
from runtime.protocol.records import Record
from runtime.store.explain import Blocker, Count, Coverage, Explained, explain
from runtime.store.store import Store


class Cause(Record, frozen=True):
    """How many jobs wait for one cause; `oldest` is the earliest of them, in the store's clock."""

    cause: str
    jobs: int
    oldest: int
    text: str


class Waiting(Record, frozen=True):
    """One job, what it waits for in words, and what to do about it."""

    text: str
    next: str
    job: Blocker


class Why(Record, frozen=True):
    """The answer to a why: a line that sums it up, the counts by cause that add up to `unfinished`, jobs by name."""

    subject: str
    summary: str
    next: str | None
    clock: str
    now: int
    mode: str
    version: int
    unfinished: int
    causes: tuple[Cause, ...]
    jobs: tuple[Waiting, ...]
    uncovered: tuple[Coverage, ...] = ()


async def why_job(store: Store, job: str) -> Why | None:
    """Why this job is not further, then why the job before it is not; None if there is no such job."""
    record = await store.job(job)
    if record is None:
        return None
    facts = await explain(store, "job", job, counts=False)
    if not facts.blockers:
        return _why(f"job {job}", facts, (), "done: every step is committed, a done job never changes", "nothing to do")
    chain = list(facts.blockers)
    while chain[-1].behind is not None and len(chain) < 3:
        before = await explain(store, "job", chain[-1].behind, counts=False)
        if not before.blockers:
            break
        chain += before.blockers
    clock = Clock(facts.clock, facts.now)
    return _why(f"job {job}", facts, chain, sentence(chain[0], clock), advice(chain[-1], _covered(facts)))


async def why_flow(store: Store, flow: str, *, limit: int = 20) -> Why | None:
    """What the unfinished jobs of a flow wait for, in their order; None if there is no such flow."""
    record = await store.flow(flow)
    if record is None:
        return None
    facts = await explain(store, "flow", flow, counts=False, limit=limit)
    kind = "ordered" if record.width is None else f"free, {record.taken} of {record.width} places taken"
    summary = f"{kind}; {record.unfinished} unfinished, next sequence number {record.next_seq}"
    limit_of_flow = (await store.control()).flow_capacity
    if limit_of_flow is not None and record.unfinished >= limit_of_flow:
        summary += f"; its capacity of {limit_of_flow} is reached, new jobs of it are answered full"
    first = facts.blockers[0] if facts.blockers else None
    if first is not None:
        summary += f"; its first unfinished job {first.job} is {sentence(first, Clock(facts.clock, facts.now))}"
    return _why(
        f"flow {flow}", facts, facts.blockers, summary, advice(first, _covered(facts)) if first else "nothing to do"
    )


async def why_definition(store: Store, digest: str, *, limit: int = 20) -> Why | None:
    """What the unfinished jobs of a definition wait for and who declares it; None if nobody registered it.

    The beginning of a digest will do.
    """
    found = await digest_of(store, digest)
    facts = await explain(store, "definition", found, limit=limit)
    cover = next((cover for cover in facts.coverage if cover.digest == found), None)
    if cover is None:
        return None
    who = f"declared by {', '.join(cover.workers)}" if cover.workers else "no live worker declares it"
    route = "no route leads to it" if cover.revision is None else f"new jobs go to it (revision {cover.revision})"
    summary = f"workflow {cover.workflow}: {cover.unfinished} unfinished, {cover.done} done; {who}; {route}"
    counts = tuple(count for count in facts.counts if count.digest == found)
    why = _why(f"definition {found}", facts, facts.blockers, summary, None)
    return replace(why, causes=_causes(counts), unfinished=cover.unfinished, next=_cover_next(cover))


async def why_drain(store: Store, *, limit: int = 20) -> Why:
    """Why the store is not drained: every cause with its count, and up to `limit` jobs of each by name."""
    facts = await explain(store, limit=limit)
    if not facts.unfinished:
        done = "paused" if facts.mode == "paused" else f"{facts.mode}, and nothing is unfinished"
        return _why("drain", facts, (), done, _pause_next(facts))
    causes = _causes(facts.counts)
    summary = f"{facts.mode} (version {facts.version}), {facts.unfinished} unfinished: " + ", ".join(
        f"{cause.jobs} {cause.cause}" for cause in causes
    )
    first = min(facts.blockers, key=lambda blocker: ORDER.index(blocker.cause))
    return _why("drain", facts, facts.blockers, summary, advice(first, _covered(facts)))


def _why(subject: str, facts: Explained, blockers: Sequence[Blocker], summary: str, next_: str | None) -> Why:
    clock = Clock(facts.clock, facts.now)
    covered = _covered(facts)
    keep_order = not facts.counts
    listed = blockers if keep_order else sorted(blockers, key=lambda blocker: ORDER.index(blocker.cause))
    return Why(
        subject=subject,
        summary=summary,
        next=next_,
        clock=facts.clock,
        now=facts.now,
        mode=facts.mode,
        version=facts.version,
        unfinished=facts.unfinished,
        causes=_causes(facts.counts),
        jobs=tuple(Waiting(sentence(blocker, clock), advice(blocker, covered), blocker) for blocker in listed),
        uncovered=tuple(cover for cover in facts.coverage if cover.stranded),
    )


def _covered(facts: Explained) -> frozenset[str]:
    return frozenset(cover.digest for cover in facts.coverage if cover.workers)


def _causes(counts: Sequence[Count]) -> tuple[Cause, ...]:
    found: dict[str, tuple[int, int]] = {}
    for count in counts:
        jobs, oldest = found.get(count.cause, (0, count.oldest))
        found[count.cause] = (jobs + count.jobs, min(oldest, count.oldest))
    return tuple(Cause(cause, *found[cause], MEANING[cause]) for cause in ORDER if cause in found)


def _cover_next(cover: Coverage) -> str:
    if cover.stranded:
        return f"start a worker that declares {cover.digest[:12]} (`work MODULE:APP`), or migrate jobs still at step 0"
    if cover.unfinished:
        return "nothing; its jobs go on"
    if cover.revision is not None:
        return "nothing; new jobs may come"
    return "nothing unfinished is bound to it; keep its handlers as long as questions about its old jobs may come"


def _pause_next(facts: Explained) -> str:
    if facts.mode == "draining" and not facts.pause_when_empty:
        return "`pause` ends the drain"
    return "nothing to do" if facts.mode != "open" else "`drain --wait` would pause it at once"

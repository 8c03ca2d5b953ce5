"""What an operator does to many jobs: redrive, recover, quarantine, migrate, in batches; and what it would do.

Each job is acted on as it was observed: its generation (or binding revision) goes along, so a job that moved on in
between is `stale` and untouched. A dry run judges the records as the store would, and writes nothing.
"""

from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from control.times import Clock
from runtime.protocol.errors import ItemError
from runtime.protocol.records import Answer, JobRecord, Migration, Operation, Record
from runtime.protocol.verdicts import State, Verdict
from runtime.store.store import Store

BATCH = 500
WANTED = {
    "redrive": ("quarantined",),
    "recover": ("inflight",),
    "quarantine": ("ready", "waiting", "inflight"),
    "migrate": ("ready", "waiting"),
}
SUCCESS = {
    "redrive": Verdict.REDRIVEN,
    "recover": Verdict.RECOVERED,
    "quarantine": Verdict.QUARANTINED,
    "migrate": Verdict.MIGRATED,
}


class Act(Record, frozen=True):
    """What is to be done: the verb, why, by whom; `to` a digest (migrate, or redrive and recover onto another);
    `live` allows recover before the lease is over; `command_id` makes repeating safe, `each` makes it one for each job
    (`<command id>/<job>`), since a receipt stands for one command on one job."""

    verb: str
    reason: str
    actor: str
    to: str | None = None
    effects_checked: bool = False
    live: bool = False
    command_id: str | None = None
    each: bool = False

    def receipt(self, job: str) -> str | None:
        """The command id under which the outcome for this job is kept."""
        return f"{self.command_id}/{job}" if self.command_id is not None and self.each else self.command_id


class Done(Record, frozen=True):
    """What became of one job; `dry` if nothing was written. `expected` is the generation, or for migrate the binding
    revision, that it was acted on with. `error` stands in for a verdict that could not be had."""

    job: str
    verdict: str | None
    cause: str | None
    expected: int
    dry: bool = False
    error: str | None = None


class Target(Record, frozen=True):
    """One job as it was observed: the generation, or for migrate the binding revision, that must still hold."""

    job: str
    expected: int
    record: JobRecord | None


def target(verb: str, job: str, record: JobRecord | None, expected: int | None = None) -> Target:
    """A job as observed; without a record of it the store answers `unknown`."""
    observed = 0 if record is None else record.binding_revision if verb == "migrate" else record.generation
    return Target(job, observed if expected is None else expected, record)


async def named(store: Store, verb: str, jobs: Sequence[str], expected: int | None = None) -> list[Target]:
    """The jobs that a person named, as they stand now."""
    return [target(verb, job, await store.job(job), expected) for job in jobs]


async def matching(
    store: Store, verb: str, *, flow: str | None = None, digest: str | None = None, limit: int | None = None
) -> AsyncIterator[list[Target]]:
    """Pages of the jobs that `verb` is for, at most `limit` in all; migrate takes those without a committed step."""
    left = limit
    for state in WANTED[verb]:
        after: str | None = None
        while left is None or left > 0:
            page = await store.jobs(state=state, flow=flow, digest=digest, after=after, limit=BATCH)
            if not page:
                break
            after = page[-1].id
            fits = [record for record in page if verb != "migrate" or record.cursor == 0][:left]
            left = None if left is None else left - len(fits)
            if fits:
                yield [target(verb, record.id, record) for record in fits]


async def act(store: Store, what: Act, targets: Sequence[Target], clock: Clock) -> list[Done]:
    """Do it, a batch at a time; every batch is one transaction. The result is in the order given.

    Recover holds back what has a live lease unless `what.live`; the store itself would take it.
    """
    done: dict[int, Done] = {}
    send: list[int] = []
    for place, item in enumerate(targets):
        if what.verb == "recover" and not what.live and item.record and live_lease(item.record, clock):
            done[place] = replace(foresee(what, item, clock), dry=False)
        else:
            send.append(place)
    for start in range(0, len(send), BATCH):
        places = send[start : start + BATCH]
        answers = await _send(store, what, [targets[place] for place in places])
        done |= {place: _done(targets[place], answer) for place, answer in zip(places, answers, strict=True)}
    return [done[place] for place in range(len(targets))]


def foresee(what: Act, item: Target, clock: Clock) -> Done:
    """What `act` would answer for a job that stays as it is; judged in the store's order: unknown, stale, refused."""
    record = item.record
    if record is None:
        return Done(item.job, Verdict.UNKNOWN, "there is no such job", item.expected, dry=True)
    observed = record.binding_revision if what.verb == "migrate" else record.generation
    if observed != item.expected:
        return Done(item.job, Verdict.STALE, f"it is at {observed}, not at {item.expected}", item.expected, dry=True)
    cause = refusal(what, record, clock)
    verdict = Verdict.REFUSED if cause else SUCCESS[what.verb]
    return Done(item.job, verdict, cause, item.expected, dry=True)


def refusal(what: Act, record: JobRecord, clock: Clock) -> str | None:
    """Why the state of this job does not allow it; None if it does."""
    wanted = WANTED[what.verb]
    if record.state not in wanted:
        return f"it is {record.state}; {what.verb} is for jobs that are {' or '.join(wanted)}"
    if what.verb == "recover" and live_lease(record, clock) and not what.live:
        return f"its lease is live until {clock.at(record.lease_until)}, its worker may still answer; --live takes it"
    if what.to is None:
        return None
    if record.cursor > 0:
        return f"steps committed under {record.current_digest[:12]}: {record.cursor}; only cursor 0 may migrate"
    if record.current_digest == what.to:
        return f"it is already bound to {what.to[:12]}"
    return None


def live_lease(record: JobRecord, clock: Clock) -> bool:
    """Whether a claim's lease has not lapsed."""
    return record.state == State.INFLIGHT and record.lease_until is not None and clock.now <= record.lease_until


async def _send(store: Store, what: Act, batch: Sequence[Target]) -> list[Answer | ItemError]:
    if what.verb == "migrate":
        return await store.migrate_many([_migration(what, item) for item in batch])
    items = [_operation(what, item) for item in batch]
    if what.verb == "redrive":
        return await store.redrive_many(items)
    if what.verb == "recover":
        return await store.recover_many(items)
    return await store.quarantine_job_many(items)


def _operation(what: Act, item: Target) -> Operation:
    return Operation(
        item.job,
        item.expected,
        what.reason,
        to=what.to,
        effects_checked=what.effects_checked,
        actor=what.actor,
        command_id=what.receipt(item.job),
    )


def _migration(what: Act, item: Target) -> Migration:
    return Migration(
        item.job,
        item.expected,
        what.to or "",
        what.reason,
        effects_checked=what.effects_checked,
        actor=what.actor,
        command_id=what.receipt(item.job),
    )


def _done(item: Target, answer: Answer | ItemError) -> Done:
    if isinstance(answer, ItemError):
        return Done(item.job, None, None, item.expected, error=str(answer))
    return Done(item.job, answer.verdict, answer.cause, item.expected)

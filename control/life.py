"""One job's whole life, in the order in which it happened: admission, failures, effects, what people did to it."""

from typing import Any

from control.find import clock_of
from control.times import Clock
from runtime.protocol.records import Audit, Effect, History, JobRecord, Record
from runtime.store.store import Store

DIGEST = 64  # characters of one in hexadecimal; twelve of them tell definitions apart


class Event(Record, frozen=True):
    """Something that happened to a job; `at` in the store's clock."""

    at: int
    what: str
    text: str


class Life(Record, frozen=True):
    """A job with everything that is kept of it."""

    clock: str
    now: int
    job: JobRecord
    payload: Any
    effects: tuple[Effect, ...]
    history: tuple[History, ...]
    audit: tuple[Audit, ...]
    events: tuple[Event, ...]


async def life_of(store: Store, job: str) -> Life | None:
    """Everything that is kept of a job; None if there is no such job."""
    record = await store.job(job)
    if record is None:
        return None
    clock = await clock_of(store)
    payload = await store.payload(job)
    effects, history = tuple(await store.effects(job)), tuple(await store.history(job))
    audit = tuple(await store.audit(job=job))
    events = sorted(_events(record, effects, history, audit, clock), key=lambda event: event.at)
    return Life(clock.kind, clock.now, record, payload, effects, history, audit, tuple(events))


def _events(
    job: JobRecord, effects: tuple[Effect, ...], history: tuple[History, ...], audit: tuple[Audit, ...], clock: Clock
) -> list[Event]:
    flow = f"flow {job.flow}, number {job.seq}" if job.flow is not None else "no flow"
    events = [Event(job.admitted_at, "accepted", f"{flow}, definition {job.accepted_digest[:12]}")]
    events += [_operated(act) for act in audit]
    events += [_happened(row, clock) for row in history]
    events += [_committed(effect) for effect in effects]
    if job.state == "inflight" and job.since is not None:
        lease = f"lease until {clock.at(job.lease_until)}, generation {job.generation}"
        text = f"step {job.cursor} by {job.worker}, attempt {job.attempts}, {lease}"
        events.append(Event(job.since, "claimed", text))
    return events


def _operated(act: Audit) -> Event:
    because = f": {act.reason}" if act.reason else ""
    return Event(act.at, act.verb, f"by {act.actor}{because}{changes(act)}")


def changes(act: Audit) -> str:
    """What an act changed, in brackets: each value that differs, from → to; nothing if that cannot be said."""
    if not isinstance(act.before, dict) or not isinstance(act.after, dict):
        return ""
    names = [name for name in act.after if name in act.before and act.before[name] != act.after[name]]
    parts = [f"{name.replace('_', ' ')} {_value(act.before[name])} → {_value(act.after[name])}" for name in names]
    return f" ({', '.join(parts)})" if parts else ""


def _value(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text[:12] if len(text) == DIGEST else text


def _happened(row: History, clock: Clock) -> Event:
    times = f" ({row.times} times, last {clock.at(row.last_at)})" if row.times > 1 else ""
    by = f" by {row.worker}" if row.worker is not None else ""
    return Event(row.at, row.what, f"step {row.step}, generation {row.generation}{by}: {row.why or '-'}{times}")


def _committed(effect: Effect) -> Event:
    by = f" by {effect.worker}" if effect.worker is not None else ""
    text = f"step {effect.step} ({effect.name}), generation {effect.generation}{by}"
    return Event(effect.at, "effect", text)

"""A worker over a stand-in source, and claims made by hand."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from anyio import Event, create_task_group
from msgspec import structs

from runtime.places import Places
from runtime.protocol.canonical import decode
from runtime.protocol.manifest import Manifest
from runtime.protocol.ports import Outcome
from runtime.protocol.records import Callback, Claim, Commit, Effect, Token
from workers import App
from workers.ports import Params
from workers.worker import Worker


class Desk:
    """Reads that handlers ask for, answered from memory and counted."""

    def __init__(self, effects: Sequence[tuple[str, Any]] = (), rows: Any = ()) -> None:
        self._effects = [Effect(n, name, "d", value, 0, 1, None) for n, (name, value) in enumerate(effects)]
        self._rows = rows
        self.asked: list[Any] = []

    async def effects(self, job: str) -> Sequence[Effect]:
        self.asked.append(job)
        return self._effects

    async def query(self, sql: str, params: Params = ()) -> Any:
        self.asked.append((sql, params))
        return self._rows


def worker(app: App, source: Desk | None = None, **options: Any) -> Worker:
    """A worker of fixed identity."""
    return Worker(app, source or Desk(), store_id="store-1", id="w1", **options)


def claim(manifest: Manifest, payload: Any = None, *, cursor: int = 0, attempt: int = 1, job: str = "j1") -> Claim:
    """A claim of one step of one job."""
    token = Token(job, 0, 7, cursor, manifest.digest)
    return Claim(token, manifest.name, "f1", 3, json.dumps(payload), attempt, attempt, 0, 30_000, 1)


async def attempt(made: Worker, given: Claim, ended: Callable[[Outcome], None] = lambda outcome: None) -> Outcome:
    """What one attempt leads to, run by a place as the scheduler's places run it; `ended` is told so too when this is
    cancelled from outside."""
    over = Event()
    places = Places(made, 1, over.set)
    try:
        async with create_task_group() as group:
            places.start(group)
            places.give([given])
            await over.wait()
            group.cancel_scope.cancel()
    finally:
        (flight,) = places.outcomes
        assert flight.outcome is not None
        ended(flight.outcome)
    return flight.outcome


async def outcome_of(
    handler: Callable[..., Any],
    payload: Any = None,
    *,
    source: Desk | None = None,
    process: bool = False,
    ended: Callable[[Outcome], None] = lambda outcome: None,
    **policy: Any,
) -> Outcome:
    """What one attempt at a one-step job with this handler leads to."""
    from workers import step

    app = App("points", abi="local/1")
    app.step(name="handler", process=process)(handler)
    manifest = app.manifest([step("base", "handler", **policy)])
    async with worker(app, source) as made:
        return await attempt(made, claim(manifest, payload), ended)


def reason(outcome: Outcome) -> str:
    """Why an attempt did not commit."""
    assert isinstance(outcome.item, Callback), outcome
    return outcome.item.reason


def commit(outcome: Outcome) -> Commit:
    """What an attempt commits, its value as the handler returned it."""
    assert isinstance(outcome.item, Commit), outcome
    assert outcome.verb == "commit_step"
    return structs.replace(outcome.item, value=decode(outcome.item.value.text))

"""A worker over a real store: what it hands over is committed whole, or not at all."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.protocol.errors import WriteFailed
from runtime.protocol.records import Answer, Callback
from runtime.store.store import Store
from tests.workers.desk import attempt
from workers import App, Context
from workers.worker import Worker


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "app.db") as opened:
        yield opened


def ledger() -> App:
    app = App("points", abi="local/1")
    app.schema("ledger", "create table ledger (job text primary key, points integer not null) strict")

    @app.step
    async def base(ctx: Context) -> int:
        return int(ctx.payload["units"])

    @app.step
    def book(ctx: Any, *, flat: int) -> int:
        points: int = ctx.effect("base") + flat + len(ctx.query("select * from ledger"))
        ctx.execute("insert into ledger values (?, ?)", (ctx.payload.get("as", ctx.id), points))
        return points

    app.manifest([("base", base), ("book", book, {"flat": 1})])
    return app


async def turn(store: Store, worker: Worker) -> list[Any]:
    """Claim what there is, run it, settle it; the store's answers."""
    claims = (await store.claim(8, worker.worker)).claims
    outcomes = [await attempt(worker, claim) for claim in claims]
    answered, _ = await store.settle(commits=[outcome.item for outcome in outcomes])  # type: ignore[misc]
    return [
        (claim.token.job, answer, worker.after(claim, outcome, answer) if isinstance(answer, Exception) else None)
        for claim, outcome, answer in zip(claims, outcomes, answered["commit_step"], strict=True)
    ]


async def test_a_job_runs_from_admission_to_its_own_table(store: Store) -> None:
    app = ledger()
    await app.prepare(store)
    await app.prepare(store)
    await app.admit(store, "j1", {"units": 10})
    worker = Worker(app, store, store_id=store.store_id)
    assert [answer.verdict for _, answer, _ in await turn(store, worker)] == ["advanced"]
    assert [answer.verdict for _, answer, _ in await turn(store, worker)] == ["done"]
    assert await store.query("select job, points from ledger") == [("j1", 11)]
    assert [effect.value for effect in await store.effects("j1")] == [10, 11]


async def test_a_constraint_that_fails_makes_that_step_fail_and_no_other(store: Store) -> None:
    app = ledger()
    await app.prepare(store)
    await app.admit_many(
        store, [app.admission(name, {"units": 1, "as": row}) for name, row in [("j1", "x"), ("j2", "x"), ("j3", "y")]]
    )
    worker = Worker(app, store, store_id=store.store_id)
    await turn(store, worker)
    (_, first, _), (_, second, followed), (_, third, _) = sorted(await turn(store, worker), key=lambda one: one[0])
    assert isinstance(first, Answer)
    assert isinstance(third, Answer)
    assert (first.verdict, third.verdict) == ("done", "done")
    assert isinstance(second, WriteFailed)
    assert followed.verb == "fail"
    assert isinstance(followed.item, Callback)
    answer = await store.fail(followed.item.token, followed.item.reason)
    assert answer.verdict == "retry"
    assert await store.query("select job from ledger order by job") == [("x",), ("y",)]

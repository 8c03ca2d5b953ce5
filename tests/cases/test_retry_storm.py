"""Retry storm: many failures at once, or one that never ends, take no more than their share."""

import time
from pathlib import Path

import anyio

from runtime import testing
from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.cases.looking import count, counted, fields, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context, step

PLACES = 8
JOBS = 200


async def test_c28_retries_are_spread_by_the_free_places_and_a_newcomer_is_not_last(logical: Store) -> None:
    app = App("storm", abi="cases/1")
    starts: list[tuple[str, int]] = []
    open_calls: list[str] = []
    most = 0
    up = False

    @app.step
    async def call(ctx: Context) -> None:
        nonlocal most
        starts.append((ctx.id, ctx.attempt))
        open_calls.append(ctx.id)
        most = max(most, len(open_calls))
        try:
            await anyio.lowlevel.checkpoint()
            if not up or len(open_calls) > PLACES:
                raise ConnectionError("overload")
        finally:
            open_calls.remove(ctx.id)

    app.manifest([step("only", call, base=10, ceiling=100, lease=50)])
    await prepared(app, logical)
    await logical.admit_many([Admission("storm", f"job-{n}", 1, f"flow-{n}") for n in range(JOBS)])
    await testing.run_until_idle(app, logical, concurrency=PLACES)
    assert len(starts) == JOBS
    dues = {job.due for job in await logical.jobs(state="waiting", limit=JOBS)}
    assert dues == {10}  # no jitter is offered: all are due in the same instant, and the places spread them
    await testing.advance(logical, 10)
    await logical.admit("storm", "newcomer", 1, flow="new")
    await testing.run_until_idle(app, logical, concurrency=PLACES)
    assert len(starts) == 2 * JOBS + 1
    await testing.advance(logical, 20)
    up = True
    await testing.run_until_idle(app, logical, concurrency=PLACES)
    await testing.advance(logical, 100)
    await testing.run_until_idle(app, logical, concurrency=PLACES)
    assert await count(logical, "done") == JOBS + 1
    first_third = next(place for place, (_, attempt) in enumerate(starts) if attempt == 3)
    assert starts.index(("newcomer", 1)) < first_third
    assert most <= PLACES


async def test_c29_a_job_that_fails_at_once_leaves_the_place_to_the_others(store: Store, db: Path) -> None:
    app = App("fast", abi="cases/1")
    began: list[float] = []

    @app.step
    async def fails(ctx: Context) -> None:
        began.append(time.monotonic())
        raise RuntimeError("at once")

    @app.step
    async def works(ctx: Context) -> None:
        await anyio.sleep(0.01)

    app.manifest([step("only", fails, budget=1000, base="600ms", ceiling="60s")])
    app.manifest([("only", works)], workflow="works")
    await prepared(app, store)
    await store.admit("fast", "A", 1, flow="A")
    others = [Admission("works", f"{flow}-{n}", 1, f"flow-{flow}") for n in range(10) for flow in range(10)]
    await store.admit_many(others)
    async with inside(app, db, concurrency=1):
        await until(counted(store, "done", 100))
        await until(lambda: len(began) == 3)
        await anyio.sleep(0.3)
    assert await fields(store, "A", "lifetime_attempts", "attempts") == [3, 3]
    first, second, third = began
    assert second - first >= 0.6
    assert third - second >= 1.2
    ticket = (await store.snapshot()).ticket
    assert ticket == 103  # each of A's claims was a turn of its flow, and it had none while it waited

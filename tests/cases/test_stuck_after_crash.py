"""Stuck after crash, inside one process: nothing waits for somebody who will not come."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime import testing
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Admission, Claim, Worker
from runtime.store.store import Store
from tests.cases.looking import count, counted, define, fields, in_state, prepared
from tests.cases.notes import SLACK, until
from tests.cases.pool import inside
from workers import App, Context, step
from workers.attempt import begin

POLL_S = 0.05


async def test_c01_one_bad_launch_does_not_strand_the_rest_of_the_batch(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App("batch", abi="cases/1")
    calls: list[str] = []

    def resolve(claim: Claim, *rest: Any) -> Any:
        if claim.flow == "F2":
            raise ImportError("the handler of F2 cannot be resolved")
        return begin(claim, *rest)

    monkeypatch.setattr("workers.worker.begin", resolve)

    @app.step
    async def works(ctx: Context) -> None:
        calls.append(ctx.id)

    app.manifest([step("only", works, base="30s")])
    await prepared(app, store)
    await store.admit_many([Admission("batch", f"J{n}", 1, f"F{n}") for n in range(1, 6)])
    async with inside(app, db, concurrency=5):
        await until(counted(store, "done", 4))
        await anyio.sleep(POLL_S)
        assert await count(store, "inflight") == 0
        assert await fields(store, "J2", "state", "attempts") == ["ready", 1]
        (failure,) = await store.history("J2")
        assert "cannot be resolved" in str(failure.why)
        await store.admit("batch", "J6", 1, flow="F6")
        await until(in_state(store, "J6", "done"))
    assert sorted(calls) == ["J1", "J3", "J4", "J5", "J6"]


async def test_c04_a_wait_that_ends_while_nobody_runs_is_over_for_the_next_worker(logical: Store) -> None:
    app = App("later", abi="cases/1")
    attempts: list[int] = []

    @app.step
    async def second_time(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        if ctx.attempt == 1:
            raise RuntimeError("not yet")

    app.manifest([step("only", second_time, base=10, ceiling=10, lease=5)])
    await prepared(app, logical)
    await logical.admit("later", "J", 1, now=0)
    await testing.run_until_idle(app, logical)
    assert await fields(logical, "J", "state", "due") == ["ready", 10]
    await testing.advance(logical, 5)
    await testing.run_until_idle(app, logical)
    assert attempts == [1]
    await logical.register_many(app.manifests, now=60)
    await testing.run_until_idle(app, logical)
    assert attempts == [1, 2]
    assert await fields(logical, "J", "state", "lifetime_attempts") == ["done", 2]
    assert (await logical.snapshot()).ticket == 2


async def test_c06_a_job_that_raised_is_owned_by_nobody(store: Store, db: Path) -> None:
    app = App("raises", abi="cases/1")
    began: dict[str, list[float]] = {}

    @app.step
    async def first_fails(ctx: Context) -> None:
        began.setdefault(ctx.id, []).append(time.monotonic())
        if ctx.payload and ctx.attempt == 1:
            raise RuntimeError("once")

    app.manifest([step("only", first_fails, lease="60s", base="1s")])
    await prepared(app, store)
    await store.admit_many([Admission("raises", f"J{n}", n in (3, 7), f"F{n}") for n in range(13)])
    async with inside(app, db, concurrency=4):
        await until(counted(store, "waiting", 2))
        for name in ("J3", "J7"):
            assert await fields(store, name, "state", "lease_until", "worker", "attempts") == ["ready", None, None, 1]
        await until(counted(store, "done", 13))
    assert await count(store, "inflight") == 0
    for name in ("J3", "J7"):
        first, second = began[name]
        assert 1.0 <= second - first < 1.0 + SLACK * POLL_S * 5


async def test_c07_handlers_that_never_return_give_their_places_back(store: Store, db: Path) -> None:
    app = App("forever", abi="cases/1")

    @app.step
    async def never(ctx: Context) -> None:
        await anyio.sleep_forever()

    @app.step
    async def normal(ctx: Context) -> None:
        return None

    app.manifest([step("only", never, time_limit="600ms", lease="1s", budget=1)])
    app.manifest([("only", normal)], workflow="normal")
    await prepared(app, store)
    for name in ("X1", "X2"):
        await store.admit("forever", name, 1, flow=name)
    await store.admit("normal", "J", 1, flow="third")
    async with inside(app, db, concurrency=2):
        await until(in_state(store, "J", "done"), within_s=SLACK * 3)
        for name in ("X1", "X2"):
            record = await until(in_state(store, name, "quarantined"))
            assert "time limit" in record.reason
            assert (record.attempts, record.generation) == (1, 1)
        await store.admit("normal", "J2", 1, flow="X3")
        await until(in_state(store, "J2", "done"))
    assert await count(store, "inflight") == 0


async def test_c07_renewals_alone_never_keep_a_step_alive(logical: Store) -> None:
    manifest = Manifest("limited", "cases/1", (Step("only", "any", lease=5, time_limit=20, base=1, ceiling=1),))
    worker = Worker.declaring("w", manifest)
    await define(logical, manifest)
    await logical.admit("limited", "J", 1, now=0)
    (claim,) = (await logical.claim(1, worker, now=0)).claims
    ends = [(await logical.renew(claim.token, now=now)).lease_until for now in range(4, 25, 4)]
    assert ends == [9, 13, 17, 21, 25, 25]
    assert (await logical.renew(claim.token, now=26)).verdict == "expired"
    assert (await logical.claim(1, worker, now=26)).claims[0].token.generation == 2

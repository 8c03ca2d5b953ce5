"""Deadlock: a job that admits another one, and one that waits for it."""

from pathlib import Path

import anyio

from runtime.protocol.verdicts import State
from runtime.store.store import Store
from tests.cases.looking import counted, fields, job, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context, step

LIMIT_S = 1.0


async def test_c81_a_job_admits_another_and_at_worst_its_own_time_limit_ends_the_wait(store: Store, db: Path) -> None:
    app = App("parents", abi="cases/1")
    took: dict[str, float] = {}

    @app.step
    async def parent(ctx: Context) -> None:
        asked_at = anyio.current_time()
        child = f"child of {ctx.id}"
        answer = await store.admit("children", child, 1, flow="children")
        assert answer.verdict in ("accepted", "replay")
        assert (await job(store, ctx.id)).state == State.INFLIGHT
        took.setdefault(ctx.id, anyio.current_time() - asked_at)
        if ctx.payload == "waits":
            await store.wait_done(child)

    @app.step
    async def child(ctx: Context) -> None:
        return None

    app.manifest([step("only", parent, time_limit=int(LIMIT_S * 1000), budget=1)])
    app.manifest([("only", child)], workflow="children")
    await prepared(app, store)
    async with inside(app, db, concurrency=1):
        await store.admit("parents", "J1", "goes on")
        await until(counted(store, "done", 2))
        await store.admit("parents", "J2", "waits")
        await until(counted(store, "done", 3), within_s=LIMIT_S + 1)
    assert max(took.values()) < 1
    attempts, state, reason = await fields(store, "J2", "attempts", "state", "reason")
    assert (attempts, state) == (1, "quarantined")
    assert "time limit of 1000 ms" in reason

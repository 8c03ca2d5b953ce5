"""Attempt count: what is counted, when it is forgiven, and that people and handlers see the same numbers."""

import signal
from pathlib import Path
from typing import Any

from control.explain import why_job
from runtime import testing
from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import counted, fields, happened, in_state
from tests.cases.notes import begun, notes, open_gate, until
from tests.cases.pool import pool
from workers import App, Context, step

TICKS: dict[str, Any] = {"budget": 3, "base": 2, "ceiling": 8, "lease": 5}


async def test_c21_a_job_that_ends_its_process_has_its_attempts_counted(store: Store, db: Path) -> None:
    await apps.app.prepare(store)
    await store.admit("dies", "poison", 1, flow="poison")
    for number in range(10):
        await store.admit("quick", f"harmless-{number}", 1, flow=f"flow-{number}")
    for crash in (1, 2, 3):
        async with pool(db, "--concurrency", "2") as running:
            assert await running.wait() == 137, running.log
        assert len(notes(db.parent, "begin", "poison")) == crash
    async with pool(db) as running:
        await running.ready()
        record = await until(in_state(store, "poison", "quarantined"))
        assert (record.attempts, record.lifetime_attempts) == (3, 3)
        assert "lease lapsed" in record.reason
        assert "budget" in record.reason
        await until(counted(store, "done", 10))
    assert len(notes(db.parent, "begin", "poison")) == 3


async def test_c22_stops_do_not_use_up_the_budget(store: Store, db: Path) -> None:
    await apps.app.prepare(store)
    await store.admit("gated-twice", "long", {"gate": "open"})
    for stop in (1, 2, 3):
        async with pool(db, "--grace", "100ms") as running:
            await until(begun(db.parent, stop))
            running.send(signal.SIGTERM)
            assert await running.wait() == 0, running.log
        assert await fields(store, "long", "state", "attempts", "due") == ["ready", 0, None]
    open_gate(db.parent, "open")
    async with pool(db, "--until-idle") as running:
        assert await running.wait() == 0
    assert await fields(store, "long", "state", "generation", "lifetime_attempts") == ["done", 4, 4]
    assert await happened(store, "long") == ["released"] * 3


async def test_c23_what_is_shown_is_what_is_counted(logical: Store) -> None:
    app = App("failing", abi="cases/1")
    seen: list[int] = []

    @app.step
    async def fails(ctx: Context) -> None:
        seen.append(ctx.attempt)
        raise RuntimeError("no")

    app.manifest([step("only", fails, **TICKS)])
    await app.prepare(logical)
    await logical.admit("failing", "J", 1, now=0)
    shown = []
    for wait in (0, 1, 1, 3, 1):
        await testing.advance(logical, wait)
        await testing.run_until_idle(app, logical)
        shown.append(await fields(logical, "J", "state", "attempts", "due"))
        why = await why_job(logical, "J")
        assert why is not None
        assert why.jobs[0].job.attempts == shown[-1][1]
        if shown[-1][2] is not None:
            assert f"attempt {shown[-1][1]} of 3" in why.summary
            assert f"tick {shown[-1][2]}" in why.summary
    assert shown == [
        ["ready", 1, 2],
        ["ready", 1, 2],
        ["ready", 2, 6],
        ["ready", 2, 6],
        ["quarantined", 3, None],
    ]
    assert seen == [1, 2, 3]
    await testing.advance(logical, 1_000)
    await testing.run_until_idle(app, logical)
    assert seen == [1, 2, 3]


async def test_c25_the_budget_is_per_step(logical: Store) -> None:
    app = App("stages", abi="cases/1")
    calls: list[str] = []
    shown: list[int] = []

    @app.step
    async def once_more(ctx: Context) -> str:
        calls.append(ctx.step)
        shown.append(ctx.attempt)
        if ctx.attempt == 1:
            raise RuntimeError("not yet")
        return ctx.step

    names = ("first", "second", "third")
    app.manifest([step(name, once_more, **TICKS) for name in names])
    await app.prepare(logical)
    await logical.admit("stages", "J", 1, now=0)
    waits = []
    for wait in (0, 2, 2, 2):
        await testing.advance(logical, wait)
        await testing.run_until_idle(app, logical)
        waits.append(await fields(logical, "J", "state", "attempts", "due"))
    assert waits == [["ready", 1, 2], ["ready", 1, 4], ["ready", 1, 6], ["done", 0, None]]
    assert calls == [name for name in names for _ in range(2)]
    assert shown == [1, 2] * 3
    assert await fields(logical, "J", "lifetime_attempts") == [6]
    assert [effect.value for effect in await logical.effects("J")] == list(names)

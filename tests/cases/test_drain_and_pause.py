"""Drain and pause: they reach the store and nobody else's pool, say what is left, and nothing is claimed ahead."""

import json
import signal
from pathlib import Path

import anyio
import pytest

from runtime.protocol.records import Admission, Answer
from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import count, counted, in_state, prepared
from tests.cases.notes import begun, notes, open_gate, until
from tests.cases.pool import command, inside, pool, terminal
from workers import App, Context, step

LEASE_S = 0.6


async def test_c68_a_pool_that_leaves_pauses_nobody(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    async with pool(db) as old, pool(db) as new:
        await old.ready()
        await new.ready()
        await store.admit("gated", "J", {"gate": "open"})
        await until(begun(db.parent, 1))
        old.send(signal.SIGTERM)
        await until(lambda: "stopping" in old.log)
        await store.admit("quick", "after", 1)
        await until(in_state(store, "after", "done"), within_s=1)
        assert notes(db.parent, "begin", "after")[0]["pid"] == new.pid
        open_gate(db.parent, "open")
        assert await old.wait() == 0
        control = await store.control()
        assert (control.mode, control.version) == ("open", 0)


async def said(store: Store, action: str, version: int) -> tuple[str, str, int]:
    """A command's verdict, and the mode and version that its answer carries."""
    answer: Answer = await store.transition(action, version)
    assert answer.mode is not None
    assert answer.version is not None
    return str(answer.verdict), str(answer.mode), answer.version


async def test_c69_pause_holds_only_once_everything_is_done(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App("three", abi="cases/1")
    doors = {name: anyio.Event() for name in ("first", "rest")}

    @app.step
    async def slow(ctx: Context) -> None:
        await doors["first" if ctx.step == "one" else "rest"].wait()

    @app.step
    async def quick(ctx: Context) -> None:
        await doors["rest"].wait()

    app.manifest([step(name, slow) for name in ("one", "two", "three")])
    app.manifest([("only", quick)], workflow="quick")
    await prepared(app, store)
    async with inside(app, db, concurrency=1):
        await store.admit("three", "J", 1)
        await until(in_state(store, "J", "inflight"))
        await store.admit_many([Admission("quick", f"job-{n}", 1) for n in range(10)])
        assert await said(store, "pause", 0) == ("refused", "open", 0)
        assert await said(store, "drain", 0) == ("draining", "draining", 1)
        assert await said(store, "pause", 1) == ("busy", "draining", 1)
        doors["first"].set()
        await until(lambda: claims_go_on(store))
        assert await said(store, "pause", 1) == ("busy", "draining", 1)
    assert await said(store, "pause", 1) == ("busy", "draining", 1)
    async with inside(app, db, concurrency=1):
        doors["rest"].set()
        await until(counted(store, "done", 11))
        assert (await store.control()).mode == "draining"
        assert await said(store, "pause", 1) == ("paused", "paused", 2)
    ticket = (await store.control()).ticket
    async with inside(app, db):
        assert (await store.admit("quick", "late", 1)).verdict == "closed"
        assert (await store.admit("quick", "job-0", 1)).verdict == "replay"
        control = await store.control()
        assert (control.mode, control.version, control.ticket) == ("paused", 2, ticket)
        assert await said(store, "resume", 2) == ("open", "open", 3)
        assert (await store.admit("quick", "late", 1)).verdict == "accepted"
        await until(in_state(store, "late", "done"))


async def claims_go_on(store: Store) -> bool:
    """Whether a job was claimed after the first one's first step."""
    return (await store.control()).ticket >= 2


def sleeping() -> App:
    """An app whose step takes half its lease."""
    app = App("half", abi="cases/1")

    @app.step
    async def half(ctx: Context) -> None:
        await anyio.sleep(LEASE_S / 2)

    app.manifest([step("only", half, lease=int(LEASE_S * 1000))])
    return app


async def test_c70_nothing_is_claimed_ahead_so_no_lease_is_lost_while_waiting(store: Store, db: Path) -> None:
    app = sleeping()
    await prepared(app, store)
    await store.admit_many([Admission("half", f"job-{n}", 1, f"flow-{n}") for n in range(10)])
    async with inside(app, db, concurrency=1, grace_s=5.0) as running:
        await until(counted(store, "done", 1))
        running.stop.ask("the first job is done")
        await running.ended.wait()
    begun_jobs = await count(store, "done")
    assert begun_jobs <= 2
    jobs = await store.jobs(state="ready")
    assert len(jobs) == 10 - begun_jobs
    assert {(job.generation, job.attempts) for job in jobs} == {(0, 0)}
    async with inside(app, db, concurrency=1):
        await until(counted(store, "done", 10), within_s=20)
    jobs = await store.jobs()
    assert {(job.generation, job.lifetime_attempts) for job in jobs} == {(1, 1)}
    assert (await store.snapshot()).ticket == 10


async def test_c71_no_job_more_than_the_limit_is_fetched(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    await store.admit_many([Admission("quick", f"job-{n}", 1, f"flow-{n}") for n in range(6)])
    for done in (5, 6):
        async with pool(db, "--max-jobs", "5", "--until-idle", "--concurrency", "3") as running:
            assert await running.wait() == 0
        assert await count(store, "done") == done
        if done == 5:
            (left,) = await store.jobs(state="ready")
            assert (left.generation, left.attempts) == (0, 0)
    assert len(notes(db.parent, "begin")) == 6


async def test_c72_a_drain_without_workers_ends_at_its_deadline_and_says_who_is_missing(
    store: Store, db: Path
) -> None:
    await prepared(apps.app, store)
    await store.admit_many([Admission("quick", f"job-{n}", 1, f"flow-{n}") for n in range(5)])
    drained = await command(db, "drain", "--wait", "--no-pause", "--timeout", "500ms")
    assert drained.returncode == 3, drained.stderr.decode()
    looked = await terminal(db, ["why", "drain"], ["why", "drain", "-o", "json"], ["pause"])
    assert looked.returncode == 3
    assert json.loads(looked.stdout.splitlines()[-1]) == [0, 0, 3]
    text = looked.stdout.decode()
    assert text.count("no live worker declares") >= 6
    assert "ago" in text
    why = json.loads(text[text.index("{") : text.rindex("}") + 1])
    (cause,) = why["causes"]
    assert (cause["cause"], cause["jobs"], why["unfinished"]) == ("undeclared", 5, 5)
    assert cause["oldest"] == min(job.admitted_at for job in await store.jobs())
    assert {item["job"]["job"] for item in why["jobs"]} == {f"job-{n}" for n in range(5)}
    assert {item["job"]["digest"] for item in why["jobs"]} == {apps.QUICK.digest}
    async with pool(db) as running:
        await running.ready()
        await until(counted(store, "done", 5))
    version = (await store.control()).version
    assert await said(store, "pause", version) == ("paused", "paused", version + 1)

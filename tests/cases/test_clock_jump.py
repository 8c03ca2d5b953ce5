"""Clock jump: the wall clock goes back by two minutes, and work goes on."""

import time
from pathlib import Path

import anyio
import pytest

from runtime import scheduler
from runtime.protocol.errors import ClockBackwards
from runtime.protocol.records import Worker
from runtime.scheduler import FLUSH_S, LONGEST_POLL_S
from runtime.store.store import Store
from tests.cases.looking import define, fields, happened, in_state, job, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context, step

JUMP_S = 120.0
LEASE_S = 0.6


class Wall:
    """The wall clock, which a case can set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.offset_s = 0.0
        true_ns = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: true_ns() + int(self.offset_s * 1e9))

    def jump(self, seconds: float) -> None:
        """Set it."""
        self.offset_s += seconds


async def test_c91_work_goes_on_when_the_clock_goes_back(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App("jumps", abi="cases/1")
    over = anyio.Event()
    calls: list[str] = []
    sleeps: list[float] = []
    wall = Wall(monkeypatch)

    def noted(delay: float) -> anyio.CancelScope:
        if delay != FLUSH_S:
            sleeps.append(delay)
        return anyio.move_on_after(delay)

    @app.step
    async def work(ctx: Context) -> None:
        calls.append(ctx.id)
        if ctx.id == "running":
            await over.wait()
        if ctx.id == "failing" and ctx.attempt == 1:
            raise RuntimeError("the first attempt fails")

    app.manifest([step("only", work, lease=int(LEASE_S * 1000), base="30s", ceiling="30s")])
    await prepared(app, store)
    monkeypatch.setattr(scheduler, "move_on_after", noted)
    async with inside(app, db, concurrency=4) as running:
        await store.admit("jumps", "failing", 1, flow="failing")
        await until(lambda: happened_once(store))
        await store.admit("jumps", "running", 1, flow="running")
        await until(lambda: "running" in calls)
        wall.jump(-JUMP_S)
        await store.admit("jumps", "ready", 1, flow="ready")
        await until(in_state(store, "ready", "done"), within_s=1)
        # several leases pass: it is renewed on time, and taken over by nobody
        await anyio.sleep(3 * LEASE_S)
        assert await fields(store, "running", "state", "generation", "worker") == ["inflight", 1, running.worker]
        left_ms = ((await job(store, "running")).lease_until or 0) - time.time_ns() // 1_000_000
        assert left_ms <= (LEASE_S + JUMP_S) * 1000
        over.set()
        await until(in_state(store, "running", "done"))
        assert calls.count("failing") == 1
        wall.jump(30 + 1)
        await anyio.sleep(0.3)
        # its wait is longer by what the clock went back, and no longer
        assert calls.count("failing") == 1
        wall.jump(JUMP_S)
        await until(in_state(store, "failing", "done"), within_s=2)
    assert calls.count("running") == 1
    assert max(sleeps) <= LONGEST_POLL_S


async def happened_once(store: Store) -> bool:
    """Whether the first attempt has failed."""
    return await happened(store, "failing") == ["failed"]


async def test_c91_a_dead_workers_job_is_taken_over_once_its_lease_is_over_by_the_new_clock(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App("jumps", abi="cases/1")
    calls: list[int] = []
    wall = Wall(monkeypatch)

    @app.step
    async def work(ctx: Context) -> None:
        calls.append(ctx.generation)

    app.manifest([step("only", work, lease=int(LEASE_S * 1000))])
    await prepared(app, store)
    await store.admit("jumps", "J", 1)
    (claim,) = (await store.claim(1, Worker.declaring("dead", *app.manifests))).claims
    wall.jump(-JUMP_S)
    async with inside(app, db):
        await anyio.sleep(2 * LEASE_S)
        assert calls == []
        wall.jump(claim.lease_until / 1000 - time.time_ns() / 1e9 - 0.2)
        await anyio.sleep(0.1)
        assert calls == []
        await until(lambda: calls, within_s=1.5)
    assert calls == [2]


async def test_c91_on_the_logical_clock_a_step_back_is_refused(logical: Store) -> None:
    app = App("jumps", abi="cases/1")

    @app.step
    async def work(ctx: Context) -> None:
        return None

    manifest = app.manifest([step("only", work)])
    await define(logical, manifest)
    await logical.sweep(now=100)
    before = await logical.dump()
    with pytest.raises(ClockBackwards):
        await logical.admit("jumps", "J", 1, now=99)
    assert await logical.dump() == before
    assert (await logical.admit("jumps", "J", 1, now=100)).verdict == "accepted"

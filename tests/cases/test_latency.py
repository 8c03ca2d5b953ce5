"""Latency: what is there is seen, from wherever it comes, and nothing sleeps while there is work."""

from pathlib import Path
from statistics import median

import anyio
import pytest

from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import counted, job, prepared
from tests.cases.notes import begun, notes, until
from tests.cases.pool import inside, pool, terminal
from workers import App, Context

SEEN_S = 1.0
QUICK_JOBS = 100
ROUNDS = 10
STEP_S = 0.1


@pytest.mark.parametrize("program", [("runtime",), ("tests.cases.patched", "unwatched")])
async def test_c84_a_job_from_another_process_is_seen_at_once(store: Store, db: Path, program: tuple[str, ...]) -> None:
    await prepared(apps.app, store)
    async with pool(db, "--poll", "200ms", program=program) as running:
        await running.ready()
        await anyio.sleep(1.0)
        for name in ("first", "second"):
            ended = await terminal(db, ["admit", "quick", name, "--payload", "1"])
            assert ended.returncode == 0, ended.stderr.decode()
            await until(begun(db.parent, 1, name), within_s=SEEN_S)
            (start,) = notes(db.parent, "begin", name)
            assert start["at_ms"] - (await job(store, name)).admitted_at <= SEEN_S * 1000
            assert start["pid"] == running.pid


async def test_c85_there_is_no_pause_between_jobs(store: Store, db: Path) -> None:
    app = App("short", abi="cases/1")

    @app.step
    async def short(ctx: Context) -> None:
        await anyio.sleep(0.001)

    app.manifest([("only", short)])
    await prepared(app, store)
    await store.admit_many([Admission("short", f"job-{n}", n, f"flow-{n}") for n in range(QUICK_JOBS)])
    async with inside(app, db, concurrency=1, poll_ms=1000):
        begun_at = anyio.current_time()
        await until(counted(store, "done", QUICK_JOBS))
        assert anyio.current_time() - begun_at < 5


async def test_c86_there_is_no_pause_between_steps(store: Store, db: Path) -> None:
    app = App("steps", abi="cases/1")
    began: dict[str, float] = {}
    took_s: list[float] = []

    @app.step
    async def waits(ctx: Context) -> None:
        began.setdefault(ctx.id, anyio.current_time())
        await anyio.sleep(STEP_S)

    app.manifest([(name, waits) for name in ("one", "two", "three", "four")])
    await prepared(app, store)
    async with inside(app, db, poll_ms=1000):
        for number in range(ROUNDS):
            await store.admit("steps", f"job-{number}", 1)
            await store.wait_done(f"job-{number}", timeout=5)
            took_s.append(anyio.current_time() - began[f"job-{number}"])
    # one wait for a poll between the steps would make it longer than this
    assert median(took_s) < 1.0
    assert max(took_s) < 2 * 1.0

"""Quarantine and redrive: one row for ever, attempts anew, and claims that were taken away leave nothing behind."""

import gc
import json
import logging
from collections import Counter
from pathlib import Path

import anyio
import pytest

from runtime import testing
from runtime.flight import Flight
from runtime.protocol.errors import InvalidValue
from runtime.protocol.records import Admission, Token, Worker
from runtime.store.store import Store
from tests.cases.looking import count, counted, fields, prepared
from tests.cases.notes import until
from tests.cases.pool import command, inside
from workers import App, Context, step

BUDGET = 4
JOBS = 1_000


def failing() -> tuple[App, list[tuple[int, int]]]:
    """An app whose job always fails, and its attempts with their generations."""
    app, starts = App("fails", abi="cases/1"), []

    @app.step
    async def fails(ctx: Context) -> None:
        starts.append((ctx.attempt, ctx.generation))
        raise RuntimeError("the service is down")

    app.manifest([step("only", fails, budget=BUDGET, base=1, ceiling=1, lease=50)])
    return app, starts


async def exhausted(app: App, store: Store) -> None:
    """Run the job until its budget is spent."""
    for _ in range(BUDGET):
        await testing.run_until_idle(app, store)
        await testing.advance(store, 2)
    assert (await fields(store, "J", "state"))[0] == "quarantined"


async def test_c93_a_redrive_makes_no_copy(logical: Store) -> None:
    app, _ = failing()
    await prepared(app, logical)
    await logical.admit("fails", "J", {"mail": 1}, flow="F")
    await exhausted(app, logical)
    (generation,) = await fields(logical, "J", "generation")
    assert (await logical.redrive("J", generation, "the service is back")).verdict == "redriven"
    await exhausted(app, logical)
    assert await count(logical) == await count(logical, "quarantined") == 1
    assert (await logical.admit("fails", "J", {"mail": 1}, flow="F")).verdict == "replay"
    assert await fields(logical, "J", "lifetime_attempts", "seq") == [2 * BUDGET, 1]
    audit = await logical.audit("J")
    assert [(row.verb, (row.reason or "").partition(";")[0]) for row in audit] == [("redrive", "the service is back")]
    assert "the service is down" in json.dumps([audit[0].before, audit[0].after, audit[0].reason])
    (generation,) = await fields(logical, "J", "generation")
    await logical.redrive("J", generation, "once more")
    assert [row.reason for row in await logical.audit("J")] == ["the service is back", "once more"]
    assert await count(logical) == 1


async def test_c94_a_redriven_job_has_all_its_attempts_again(logical: Store) -> None:
    app, starts = failing()
    await prepared(app, logical)
    await logical.admit("fails", "J", 1)
    worker = Worker.declaring("w", *app.manifests)
    await exhausted(app, logical)
    assert await fields(logical, "J", "attempts", "generation") == [4, 4]
    old = (await fields(logical, "J", "current_digest"))[0]
    for blank in ("", "   "):
        with pytest.raises(InvalidValue, match="reason"):
            await logical.redrive("J", 4, blank)
    assert (await logical.redrive("J", 4, "repaired")).verdict == "redriven"
    assert await fields(logical, "J", "attempts", "generation", "state") == [0, 5, "ready"]
    assert (await logical.redrive("J", 4, "repaired")).verdict == "stale"
    starts.clear()
    await exhausted(app, logical)
    assert starts == [(1, 6), (2, 7), (3, 8), (4, 9)]
    assert await fields(logical, "J", "lifetime_attempts", "attempts", "generation") == [8, 4, 9]
    late = Token("J", 0, 4, 0, old)
    assert (await logical.commit_step(late, 1, worker=worker)).verdict == "stale"


def old_flights() -> list[Flight]:
    """What is left in memory of the first claims."""
    gc.collect()
    flights = [each for each in gc.get_objects() if isinstance(each, Flight)]
    return [each for each in flights if each.claim.token.generation == 1]


async def test_c95_claims_that_were_taken_away_leave_nothing_behind(
    store: Store, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = App("dead", abi="cases/1")
    calls: Counter[str] = Counter()
    running, most, cancelled = 0, 0, 0

    @app.step
    async def call(ctx: Context) -> None:
        nonlocal running, most, cancelled
        calls[ctx.id] += 1
        running += 1
        most = max(most, running)
        try:
            if ctx.generation == 1:
                await anyio.sleep_forever()
        except BaseException:
            cancelled += 1
            raise
        finally:
            running -= 1

    app.manifest([step("only", call, lease="4s")])
    await prepared(app, store)
    await store.admit_many([Admission("dead", f"job-{n}", 1, f"flow-{n}") for n in range(JOBS)])
    with caplog.at_level(logging.INFO, "keepstep"):
        async with inside(app, db, concurrency=JOBS):
            await until(lambda: running == JOBS)
            ended = await command(db, "recover", "--all", "--live", "--limit", str(JOBS), "--reason", "service is dead")
            assert ended.returncode == 0, ended.stderr.decode()
            await store.transition("drain", 0)
            await until(counted(store, "done", JOBS), within_s=20)
            assert cancelled == JOBS
            await until(lambda: old_flights() == [], within_s=10)
    assert most <= JOBS
    assert calls == Counter({f"job-{n}": 2 for n in range(JOBS)})
    # a busy machine may have the watchdog say something about one of them beside
    told = [record for record in caplog.records if record.name == "keepstep.scheduler"]
    named = Counter(record.__dict__["job"] for record in told if "job" in record.__dict__)
    assert set(named.values()) <= {1}
    jobs = await store.jobs(limit=JOBS)
    # claimed, recovered, claimed again
    assert {(job.state, job.generation, job.lifetime_attempts) for job in jobs} == {("done", 3, 2)}
    assert (await store.control()).mode == "draining"

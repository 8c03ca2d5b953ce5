"""Event loop: handlers that block it, and tasks that the collector must not take."""

import gc
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.cases import odd
from tests.cases.looking import counted, fields, happened, in_state, prepared
from tests.cases.notes import begun, notes, until
from tests.cases.pool import Pool, inside, pool
from workers import App, Context, step

ODD = "tests.cases.odd:app"
BLOCKED_S = 1.5  # three leases
IN_FLIGHT = 500


def said(running: Pool, *levels: str) -> list[dict[str, Any]]:
    """A pool's log lines of some levels."""
    lines = [json.loads(line) for line in running.log.splitlines()]
    return [line for line in lines if line["level"] in levels]


async def test_c56_a_handler_that_blocks_the_loop_keeps_its_lease_and_is_named(store: Store, db: Path) -> None:
    await prepared(odd.app, store)
    async with pool(db, "--log-format", "json", app=ODD) as first:
        await first.ready()
        await store.admit("blocks", "J", {"seconds": BLOCKED_S}, flow="J")
        await until(begun(db.parent, 1))
        async with pool(db, "--log-format", "json", app=ODD) as second:
            await second.ready()
            await store.admit_many([Admission("quick", f"other-{n}", 1, f"flow-{n}") for n in range(10)])
            await until(counted(store, "done", 11))
            assert said(second, "warning", "error") == []
        await until(lambda: said(first, "warning", "error"))
        (warning,) = said(first, "warning", "error")
    assert "blocks" in warning["message"]
    assert "blocked the event loop for 1." in warning["message"]
    assert (warning["job"], warning["flow"], warning["step"], warning["generation"]) == ("J", "J", "only", 1)
    assert len(notes(db.parent, "begin", "J")) == 1
    assert await fields(store, "J", "state", "generation") == ["done", 1]
    assert await happened(store, "J") == []


async def test_c56_a_step_declared_as_def_blocks_nobody_else(store: Store, db: Path) -> None:
    await prepared(odd.app, store)
    async with inside(odd.app, db):
        await store.admit("blocks-in-thread", "J", {"seconds": BLOCKED_S}, flow="J")
        await until(in_state(store, "J", "inflight"))
        async with anyio.create_task_group() as group:
            for n in range(5):
                group.start_soon(store.admit, "blocks-in-thread", f"other-{n}", {"seconds": 0})
        await until(counted(store, "done", 5), within_s=1)
        assert await fields(store, "J", "state") == ["inflight"]
        await until(in_state(store, "J", "done"))
    assert await fields(store, "J", "generation") == [1]


@contextmanager
def watched_only() -> Iterator[None]:
    """What is there already is no matter for the collector, so that it can run very often."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def test_c57_tasks_in_flight_outlive_the_collector(
    store: Store, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = App("many", abi="cases/1")
    running, most = 0, 0

    @app.step
    async def waits(ctx: Context) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(1.0)
        running -= 1

    app.manifest([step("only", waits, lease=600)])
    await prepared(app, store)

    async def collects() -> None:
        while True:
            gc.collect()
            await anyio.sleep(0.005)

    with caplog.at_level(logging.WARNING), watched_only():
        async with anyio.create_task_group() as group:
            group.start_soon(collects)
            async with inside(app, db, concurrency=IN_FLIGHT):
                await store.admit_many([Admission("many", f"job-{n}", 1, f"flow-{n}") for n in range(IN_FLIGHT)])
                await until(counted(store, "done", IN_FLIGHT), within_s=20)
            group.cancel_scope.cancel()
    assert most == IN_FLIGHT
    assert [record.getMessage() for record in caplog.records if "pending" in record.getMessage()] == []
    jobs = await store.jobs(limit=IN_FLIGHT)
    assert {(job.state, job.generation) for job in jobs} == {("done", 1)}

"""Slots: places that a lost job still holds are free again once its handler has ended."""

import logging
from pathlib import Path

import anyio
import pytest

from runtime.protocol.records import Admission, Operation
from runtime.store.store import Store
from tests.cases.looking import counted, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context, step

PLACES = 4
STUBBORN_S = 0.6


async def test_c80_recovered_jobs_give_their_places_back(
    store: Store, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = App("slots", abi="cases/1")
    running: list[str] = []
    most = 0
    starts: dict[str, float] = {}
    ended: list[float] = []

    @app.step
    async def stubborn(ctx: Context) -> None:
        nonlocal most
        running.append(ctx.id)
        most = max(most, len(running))
        starts.setdefault(ctx.id, anyio.current_time())
        try:
            if ctx.generation == 1 and ctx.id.startswith("old"):
                await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                if ctx.generation == 1 and ctx.id.startswith("old"):
                    await anyio.sleep(STUBBORN_S)
                    ended.append(anyio.current_time())
            running.remove(ctx.id)

    app.manifest([step("only", stubborn, lease=400)])
    await prepared(app, store)
    shown: set[int] = set()
    with caplog.at_level(logging.ERROR, "keepstep"):
        async with inside(app, db, concurrency=PLACES):
            await store.admit_many([Admission("slots", f"old-{n}", 1, f"old-{n}") for n in range(PLACES)])
            await until(lambda: len(running) == PLACES)
            await store.admit_many([Admission("slots", f"new-{n}", 1, f"new-{n}") for n in range(PLACES)])
            await store.recover_many([Operation(f"old-{n}", 1, "the service is dead") for n in range(PLACES)])

            async def all_done() -> bool:
                shown.add((await store.snapshot()).jobs["inflight"])
                return await counted(store, "done", 2 * PLACES)()

            await until(all_done)
    assert running == []
    assert most == PLACES
    assert max(starts[f"new-{n}"] for n in range(PLACES)) <= max(ended) + 1
    assert shown <= set(range(PLACES + 1))
    assert [record.getMessage() for record in caplog.records] == []

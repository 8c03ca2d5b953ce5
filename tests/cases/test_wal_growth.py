"""WAL growth: the write-ahead file stays small, whoever reads."""

from pathlib import Path

import anyio

from runtime.protocol.records import Admission
from runtime.store.picture import picture
from runtime.store.store import Store
from tests.cases.looking import counted, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context

MIB = 1024 * 1024
JOBS = 20_000
FLOWS = 200
READ_EVERY_S = 0.05


def wal_bytes(db: Path) -> int:
    """The size of the write-ahead file; 0 if it is gone."""
    path = Path(f"{db}-wal")
    return path.stat().st_size if path.exists() else 0


async def reads(db: Path) -> None:
    """Somebody who asks for the status all the time."""
    async with await Store.open(db) as store:
        while True:
            await picture(store)
            await anyio.sleep(READ_EVERY_S)


async def test_c49_the_write_ahead_file_stays_small_while_others_read(db: Path) -> None:
    app = App("small", abi="cases/1")
    largest = 0

    @app.step
    async def small(ctx: Context) -> None:
        return None

    app.manifest([("only", small)])

    async def measures() -> None:
        nonlocal largest
        while True:
            largest = max(largest, wal_bytes(db))
            await anyio.sleep(0.01)

    async with await Store.open(db) as store:
        await prepared(app, store)
        async with anyio.create_task_group() as group:
            for looks in (reads, reads):
                group.start_soon(looks, db)
            group.start_soon(measures)
            async with inside(app, db, concurrency=FLOWS):
                for first in range(0, JOBS, 1_000):
                    numbers = range(first, first + 1_000)
                    await store.admit_many([Admission("small", f"job-{n}", n, f"flow-{n % FLOWS}") for n in numbers])
                await until(counted(store, "done", JOBS), within_s=40)
                await until(lambda: wal_bytes(db) <= 4 * MIB, within_s=5)
            group.cancel_scope.cancel()
    assert 0 < largest <= 64 * MIB
    assert wal_bytes(db) == 0

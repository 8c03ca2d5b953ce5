"""Idle cost: what a pool takes while there is nothing to do, however many flows are known."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime.protocol.records import Admission
from runtime.scheduler import WATCHED_POLL_S
from runtime.store.reads import Reads
from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import count, counted, prepared
from tests.cases.notes import VARIABLE, until
from tests.cases.pool import inside, pool

IDLE_S = 10.0
CPU_S = 0.1 * 2  # 0.3 s in 30 s on a quiet machine
GROWTH_KIB = 1024
SETTLED_S = 3.5  # after the write-ahead file was emptied
FLOWS = 500


def cpu_s(pid: int) -> float:
    """The processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kib(pid: int) -> int:
    """The memory that a process holds."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1])


async def with_flows(db: Path, flows: int) -> None:
    """A store that knows so many flows, each with one job that is done."""
    async with await Store.open(db) as store:
        await prepared(apps.app, store)
        await store.admit_many([Admission("quick", f"job-{n}", 1, f"flow-{n}") for n in range(flows)])
        async with pool(db, "--until-idle", "--concurrency", "100") as running:
            assert await running.wait() == 0
        assert await count(store, "done") == flows


@pytest.mark.timeout(120)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is read from /proc")
async def test_c82_an_idle_pool_costs_the_same_with_one_flow_and_with_many(tmp_path: Path) -> None:
    for flows in (1, FLOWS):
        (tmp_path / f"{flows}").mkdir()
        await with_flows(tmp_path / f"{flows}" / "app.db", flows)
    async with pool(tmp_path / "1" / "app.db") as one, pool(tmp_path / f"{FLOWS}" / "app.db") as many:
        for running in (one, many):
            await running.ready()
        await anyio.sleep(SETTLED_S)
        before = {running: (cpu_s(running.pid), resident_kib(running.pid)) for running in (one, many)}
        await anyio.sleep(IDLE_S)
        for running, (cpu, resident) in before.items():
            assert cpu_s(running.pid) - cpu <= CPU_S
            assert resident_kib(running.pid) - resident <= GROWTH_KIB


@pytest.mark.parametrize("flows", [1, FLOWS])
async def test_c82_a_poll_reads_at_most_twice(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch, flows: int
) -> None:
    monkeypatch.setenv(VARIABLE, str(db.parent))
    await prepared(apps.app, store)
    await store.admit_many([Admission("quick", f"job-{n}", 1, f"flow-{n}") for n in range(flows)])
    read, reads = Reads.read, 0

    async def counting(self: Reads, unit: Any) -> Any:
        nonlocal reads
        reads += 1
        return await read(self, unit)

    async with inside(apps.app, db, concurrency=100):
        await until(counted(store, "done", flows))
        monkeypatch.setattr(Reads, "read", counting)
        await anyio.sleep(4 * WATCHED_POLL_S)
        monkeypatch.setattr(Reads, "read", read)
    assert reads <= 2 * 4

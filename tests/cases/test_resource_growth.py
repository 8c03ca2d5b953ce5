"""Resource growth: threads and descriptors do not depend on how much has been done."""

import os
from pathlib import Path

import pytest

from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import counted, prepared
from tests.cases.notes import until
from tests.cases.pool import pool

FIRST, ALL = 100, 2_000
MORE = 2


def held(pid: int) -> tuple[int, int]:
    """The threads and the descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
async def test_c87_threads_and_descriptors_do_not_grow_with_the_jobs(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    async with pool(db) as running:
        await running.ready()
        counts = []
        for first, end in ((0, FIRST), (FIRST, ALL)):
            for number in range(first, end):
                await store.admit("quick", f"job-{number}", number)
            await until(counted(store, "done", end), within_s=30)
            counts.append((*held(os.getpid()), *held(running.pid)))
    before, after = counts
    assert [new - old for old, new in zip(before, after, strict=True) if abs(new - old) > MORE] == []

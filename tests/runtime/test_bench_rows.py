"""The bench's bulk rows are what the engine itself would have written, as far as the invariants see."""

import os
from pathlib import Path

import pytest

from runtime.bench import apps, rows
from runtime.bench.lab import Lab, watched, work_off
from tests.crash.invariants import check


@pytest.mark.parametrize("state", [rows.READY, rows.WAITING, rows.QUARANTINED, rows.DONE])
async def test_bulk_rows_keep_the_invariants(state: int, tmp_path: Path) -> None:
    lab = Lab(tmp_path, runs=1, quick=True)
    async with lab.filled((apps.ONE, state, 50), (apps.FOREIGN, rows.READY, 5), (apps.ONE, rows.READY, 20)) as path:
        assert check(path) == []
        async with await watched(path) as store:
            await work_off(store, apps.one)
            assert store.committed == 20 + 50 * (state == rows.READY)
        assert check(path) == []
    assert os.listdir(tmp_path) == []

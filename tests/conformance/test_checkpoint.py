"""The write-ahead file is begun anew when it grows, by one of the processes that see it grow."""

import sqlite3
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from runtime.protocol.manifest import Manifest, Step
from runtime.store import group
from runtime.store.store import Store

NOTE = Manifest("note", "note/1", (Step("note", "note"),))
WRITERS, ROUNDS = 3, 100


async def test_a_log_that_grows_is_checkpointed_by_one_of_its_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = [0] * WRITERS

    def watching(number: int, raw: sqlite3.Connection) -> None:
        def note(sql: str) -> None:
            counts[number] += "wal_checkpoint" in sql

        raw.set_trace_callback(note)

    monkeypatch.setattr(group, "CHECKPOINT_BYTES", 200_000)
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(await Store.open(tmp_path / "app.db")) for _ in range(WRITERS)]
        await stores[0].register(NOTE)
        await stores[0].switch(NOTE.digest, 0)
        for number, store in enumerate(stores):
            await store._writer._connection.run(partial(watching, number))
        for number in range(ROUNDS * WRITERS):
            await stores[number % WRITERS].admit("note", f"job-{number}", "x" * 3_000)
        size = (tmp_path / "app.db-wal").stat().st_size
    # a file of 200 kB takes some ten of the admissions, so there was a checkpoint for each ten to thirty of them
    assert 5 <= sum(counts) <= 30
    assert size < 2_000_000

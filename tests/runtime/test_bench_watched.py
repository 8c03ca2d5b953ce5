"""What the bench counts where the engine asks for it is what SQLite is asked for."""

import time
from pathlib import Path

from runtime.bench import apps
from runtime.bench.lab import admit_all, watched
from runtime.store.store import Store


async def test_a_commit_is_one_fsync_and_a_checkpoint_two(tmp_path: Path) -> None:
    path = tmp_path / "bench.db"
    async with await Store.open(path) as store:
        await apps.one.prepare(store)
    asked: list[str] = []
    async with await watched(path) as store:
        counted = await store.count_fsyncs()
        await store._writer._connection.run(lambda raw: raw.set_trace_callback(asked.append))
        await admit_all(store, apps.ONE.name, 2_500)
        assert counted.fsyncs == sum(sql.lower() == "commit" for sql in asked) == 3
        await store.checkpoint()
        assert counted.fsyncs == 5


async def test_each_fsync_is_made_as_much_slower_as_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "bench.db"
    async with await Store.open(path) as store:
        await apps.one.prepare(store)
    async with await watched(path) as store:
        counted = await store.count_fsyncs(slower_ms=40)
        begun = time.perf_counter()
        await admit_all(store, apps.ONE.name, 1)
        await store.checkpoint()
        assert time.perf_counter() - begun >= counted.fsyncs * 0.04 == 0.12

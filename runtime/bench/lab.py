"""Where benches work: a folder on the disk that is to be measured, fresh files in it, how often and how much."""

import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from anyio import to_thread

from runtime.bench import bare, ground, rows
from runtime.bench.watched import Watched
from runtime.embed import run
from runtime.protocol.errors import ItemError
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Admission
from runtime.store.store import Store
from workers import App

COMPANIONS = ("", "-wal", "-shm", "-queue", "-turn")
CONCURRENCY = 32


class Lab:
    """`folder`: where the files go; `runs`: how often each figure is taken, `often` one that takes a second or two;
    `quick`: a tenth of the work."""

    def __init__(self, folder: Path, *, runs: int, quick: bool, often: int | None = None) -> None:
        self.folder = folder
        self.runs = runs
        self.often = often or runs
        self.quick = quick
        self._numbers = itertools.count(1)

    def amount(self, full: int) -> int:
        """How much work: all of it, or a tenth for a quick look."""
        return full // 10 if self.quick else full

    @contextmanager
    def path(self) -> Iterator[Path]:
        """A path for a database that is removed afterwards."""
        path = self.folder / f"bench-{next(self._numbers)}.db"
        try:
            yield path
        finally:
            for companion in COMPANIONS:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{path}{companion}")

    @asynccontextmanager
    async def queued(self, app: App, count: int) -> AsyncIterator[Path]:
        """A database with `count` jobs of the app's manifest queued, each without a flow."""
        with self.path() as path:
            async with await Store.open(path) as store:
                await app.prepare(store)
                await admit_all(store, app.manifests[0].name, count)
                await store.checkpoint()
            yield path

    @asynccontextmanager
    async def filled(self, *parts: tuple[Manifest, int | str, int]) -> AsyncIterator[Path]:
        """A database with (manifest, kind of row, count) written straight into its tables."""
        with self.path() as path:
            async with await Store.open(path) as store:
                await store.register_many([manifest for manifest, _, _ in parts])
            raw = ground.connect(path)
            try:
                for manifest, kind, count in parts:
                    rows.fill(raw, rows.definition_id(raw, manifest.digest), kind, count)
                raw.execute("pragma wal_checkpoint(truncate)").fetchall()
            finally:
                raw.close()
            yield path


async def admit_all(store: Store, workflow: str, count: int) -> None:
    """Admit `count` jobs with identities of 36 characters."""
    for first in range(0, count, 1000):
        numbers = range(first, min(first + 1000, count))
        items = [Admission(workflow, f"00000000-0000-4000-8000-{number:012d}", {"n": number}) for number in numbers]
        for answer in await store.admit_many(items):
            if isinstance(answer, ItemError):
                raise answer


async def watched(path: Path) -> Watched:
    """The file as a store that watches itself."""
    store = await Watched.open(path, create=False)
    assert isinstance(store, Watched)
    return store


async def work_off(store: Watched, app: App, *, concurrency: int = CONCURRENCY, most: int | None = None) -> None:
    """Work until nothing is left, or until `most` jobs are done."""
    await run(app, store, concurrency=concurrency, until_idle=True, max_jobs=most)


async def replayed(path: Path, manifest: Manifest, *, slower_ms: float = 0) -> bare.Replayed:
    """What is queued in the file, worked off by the same statements on plain sqlite3."""
    return await to_thread.run_sync(bare.replay, path, manifest, CONCURRENCY, slower_ms)

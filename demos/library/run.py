"""The library's main job: take up what is new in a folder, work until nothing is left, show how far it is, sum up."""

import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import islice

import anyio
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from demos.library.app import DEFINITIONS, app
from demos.library.find import Found, admission, walk
from demos.library.report import search, summary
from runtime.embed import run
from runtime.protocol.errors import ItemError
from runtime.protocol.records import Admission
from runtime.protocol.verdicts import Verdict
from runtime.store.store import Store

BATCH = 500
LOOK_S = 0.1
EXIT_UNFINISHED = 1
EXIT_CLOSED = 5


async def library(
    folder: str, db: str, *, definition: str = "v1", concurrency: int = 32, out: Console, err: Console
) -> int:
    """Work through `folder` into the database `db` (both real paths); returns the exit code."""
    started = time.monotonic()
    async with await Store.open(db) as store:
        await _point(store, definition)
        before = await _unfinished(store)
        taken = await take_up(store, folder, db, definition)
        if taken is None:
            err.print(f"{db} takes no new jobs: `python -m runtime resume --db {db}` opens it; what is in it goes on")
        else:
            err.print(f"{folder}: {sum(taken):,} files, {taken[0]:,} of them new or changed ({definition})")
        waiting = await _unfinished(store)
        _say_left_over(err, before)
        async with _progress(store, err, {name: count for name, count in waiting.items() if count}):
            await run(app, store, concurrency=concurrency, until_idle=True)
        left = await _unfinished(store)
        finished = {_titled(name): count - left[name] for name, count in waiting.items() if count}
        sound = await summary(store.query, out, folder, finished, time.monotonic() - started)
    if any(left.values()):
        err.print(f"{sum(left.values()):,} jobs are unfinished: `python -m runtime why drain --db {db}` says why")
    if not sound or any(left.values()):
        return EXIT_UNFINISHED
    return 0 if taken is not None else EXIT_CLOSED


async def look_up(folder: str, db: str, words: str, *, out: Console, err: Console) -> int:
    """Search a library that is there already; returns the exit code."""
    async with await Store.open(db, create=False) as store:
        await store.ensure_schema(*app.schemas[0])
        await search(store.query, out, words, folder=folder)
        left = sum((await _unfinished(store)).values())
    if left:
        err.print(f"{left:,} files are not worked through yet: the same command without --search goes on with them")
    return 0


async def take_up(store: Store, folder: str, db: str, definition: str) -> tuple[int, int] | None:
    """Admit every file of the folder; how many were new and how many known, or None if admission is closed."""
    accepted = known = 0
    own = {db, *(db + suffix for suffix in ("-wal", "-shm", "-journal", "-queue", "-turn"))}
    found = (file for file in walk(folder) if os.path.join(folder, file.relative) not in own)
    for files in _batches(found):
        elsewhere: list[Admission] = []
        asked = [admission(app.name, definition, folder, file) for file in files]
        verdicts = await _admit(store, asked)
        for file, verdict in zip(files, verdicts, strict=True):
            if verdict == Verdict.CONFLICT:
                elsewhere.append(admission(app.name, definition, folder, file, of_folder=True))
        verdicts += await _admit(store, elsewhere)
        if Verdict.CLOSED in verdicts:
            return None
        accepted += verdicts.count(Verdict.ACCEPTED)
        known += verdicts.count(Verdict.REPLAY)
    return accepted, known


async def _admit(store: Store, asked: list[Admission]) -> list[Verdict]:
    verdicts = []
    for answer in await store.admit_many(asked):
        if isinstance(answer, ItemError):
            raise answer
        verdicts.append(answer.verdict)
    return verdicts


async def _point(store: Store, definition: str) -> None:
    """New files go to `definition`; what is unfinished under another one stays there."""
    wanted = DEFINITIONS[definition]
    await store.register_many(list(DEFINITIONS.values()))
    while True:
        routes = {route.workflow: route for route in (await store.snapshot()).routes}
        route = routes.get(app.name)
        if route is not None and route.digest == wanted.digest:
            return
        await store.switch(wanted.digest, route.revision if route else 0, reason=f"--definition {definition}")


async def _unfinished(store: Store) -> dict[str, int]:
    counts = (await store.snapshot()).unfinished_by_definition
    return {name: counts.get(manifest.digest, 0) for name, manifest in DEFINITIONS.items()}


@asynccontextmanager
async def _progress(store: Store, err: Console, waiting: dict[str, int]) -> AsyncIterator[None]:
    """A bar for each definition that has unfinished jobs, each with its own list of steps."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=not waiting) as progress:
        bars: dict[str, TaskID] = {}
        for name, count in waiting.items():
            bars[name] = progress.add_task(_titled(name), total=count)

        async def look() -> None:
            left = await _unfinished(store)
            for name, bar in bars.items():
                progress.update(bar, completed=max(0, waiting[name] - left[name]))

        async def watch() -> None:
            while True:
                await look()
                await anyio.sleep(LOOK_S)

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            yield
            group.cancel_scope.cancel()
        await look()


def _say_left_over(err: Console, before: dict[str, int]) -> None:
    for name, count in before.items():
        if count:
            err.print(f"{count:,} files of an earlier run are unfinished under {name}: they go on where they were")


def _titled(name: str) -> str:
    """A definition's name with its list of steps."""
    return f"{name} ({', '.join(step.name for step in DEFINITIONS[name].steps)})"


def _batches(found: Iterator[Found]) -> Iterator[list[Found]]:
    while batch := list(islice(found, BATCH)):
        yield batch

"""The library's main job: take up what is new in a folder, work until nothing is left, show how far it is, sum up."""

import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import islice

import anyio
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from demos.library.app import DEFINITIONS, app
from demos.library.find import Found, admission, walk
from demos.library.report import search, summary
from runtime.embed import run
from runtime.protocol.errors import ItemError
from runtime.protocol.records import Admission, Snapshot
from runtime.protocol.verdicts import Verdict
from runtime.stopping import Stop
from runtime.store.store import Store

BATCH = 500
LOOK_S = 0.1
GRACE_S = 10.0
HARD_LIMIT_S = 5.0
NOTHING_LEFT = "nothing is left to do"
GOING_ON = ("ready", "waiting", "inflight")
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
        unlisted: list[str] = []
        taken = await take_up(store, folder, db, definition, unlisted)
        for name in unlisted:
            err.print(f"{name or folder}: cannot be listed, what is in it is left out")
        if taken is None:
            err.print(f"{db} takes no new jobs: `python -m runtime resume --db {db}` opens it; what is in it goes on")
        else:
            err.print(f"{folder}: {sum(taken):,} files, {taken[0]:,} of them new or changed ({definition})")
        waiting = await _unfinished(store)
        _say_left_over(err, before)
        stop = Stop(GRACE_S, HARD_LIMIT_S)
        async with _watched(store, err, waiting, stop):
            await run(app, store, concurrency=concurrency, stop=stop, owns_process=True)
        left = await _unfinished(store)
        finished = {_titled(name): count - left[name] for name, count in waiting.items() if count}
        sound = await summary(store.query, out, folder, finished, time.monotonic() - started)
    if any(left.values()) and stop.cause != NOTHING_LEFT:
        err.print(f"stopped as asked; {sum(left.values()):,} files are left, the same command goes on with them")
        return 0
    if any(left.values()):
        err.print(f"{sum(left.values()):,} files are unfinished: `python -m runtime why drain --db {db}` says why")
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


async def take_up(
    store: Store, folder: str, db: str, definition: str, unlisted: list[str]
) -> tuple[int, int] | None:
    """Admit every file of the folder; how many were new and how many known, or None if admission is closed."""
    accepted = known = 0
    own = {db, *(db + suffix for suffix in ("-wal", "-shm", "-journal", "-queue", "-turn"))}
    found = (file for file in walk(folder, unlisted) if os.path.join(folder, file.relative) not in own)
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
    return _by_name(await store.snapshot())


def _by_name(seen: Snapshot) -> dict[str, int]:
    counts = seen.unfinished_by_definition
    return {name: counts.get(manifest.digest, 0) for name, manifest in DEFINITIONS.items()}


@asynccontextmanager
async def _watched(store: Store, err: Console, waiting: dict[str, int], stop: Stop) -> AsyncIterator[None]:
    """A bar for each definition that has unfinished jobs, with its own list of steps; asks to stop when none is left.

    Claims of a process that was killed come back when their leases have lapsed: until then there is something to wait
    for, even if nothing can be claimed.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    begun = {name: count for name, count in waiting.items() if count}
    with Progress(*columns, console=err, disable=not begun) as progress:
        bars = {name: progress.add_task(_titled(name), total=count) for name, count in begun.items()}

        async def look() -> bool:
            seen = await store.snapshot()
            left = _by_name(seen)
            for name, bar in bars.items():
                progress.update(bar, completed=max(0, begun[name] - left[name]))
            return any(left.values()) and any(seen.jobs[state] for state in GOING_ON)

        async def watch() -> None:
            while await look():  # noqa: ASYNC110  other processes may be at it too
                await anyio.sleep(LOOK_S)
            stop.ask(NOTHING_LEFT)

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

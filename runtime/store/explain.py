"""What every unfinished job waits for, as facts from one read transaction; the words for people are the control's."""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.protocol.records import Record
from runtime.store.reads import Reads
from runtime.store.statements import every

ALIVE_MS = 3_000
SELECTIONS = ("job", "cause", "flow", "definition")


class Count(Record, frozen=True):
    """Unfinished jobs of one cause and definition; `oldest` in the store's clock."""

    cause: str
    digest: str
    workflow: str
    jobs: int
    oldest: int


class Blocker(Record, frozen=True):
    """One unfinished job and its one cause.

    cause: `ready` (its turn comes), `undeclared` (no live worker declares its digest), `behind` (a job of its flow
    comes first), `full` (its free flow's places are taken), `waiting` and `due` (backing off, over), `leased`,
    `lapsed`, `held` (in flight: lease live, over, over under `hold`), `quarantined`. Times in the store's clock.
    """

    cause: str
    job: str
    workflow: str
    flow: str | None
    seq: int
    digest: str
    oldest: int
    due: int | None
    lease_until: int | None
    since: int | None
    reason: str | None
    cursor: int
    attempts: int
    budget: int
    step: str
    generation: int
    width: int
    taken: int
    worker: str | None
    worker_alive: bool
    quarantined_at: int | None
    behind: str | None


class Coverage(Record, frozen=True):
    """A definition, its jobs, the revision of the route that leads to it (None: no route), the live workers that
    declare it."""

    digest: str
    workflow: str
    unfinished: int
    done: int
    revision: int | None
    workers: tuple[str, ...]

    @property
    def stranded(self) -> bool:
        """Unfinished jobs that nobody live can run."""
        return self.unfinished > 0 and not self.workers


class Explained(Record, frozen=True):
    """One read transaction: the clock, the barrier, counts by cause that add up to `unfinished`, jobs by name."""

    clock: str
    now: int
    mode: str
    version: int
    pause_when_empty: bool
    unfinished: int
    counts: tuple[Count, ...]
    blockers: tuple[Blocker, ...]
    coverage: tuple[Coverage, ...]


async def explain(
    store: Reads, selection: str | None = None, value: str | None = None, *, counts: bool = True, limit: int = 20
) -> Explained:
    """Causes of all unfinished jobs (up to `limit` by name for each cause), or of those that `selection` names:
    `job` (identity), `cause`, `flow` (name), `definition` (digest)."""
    wall_ms = time.time_ns() // 1_000_000
    return await store.read(lambda raw: _look(raw, selection, value, counts, limit, wall_ms))


async def coverage(store: Reads) -> tuple[Coverage, ...]:
    """Every registered definition, its jobs, and the live workers that declare it."""
    alive_ms = time.time_ns() // 1_000_000 - ALIVE_MS
    return await store.read(lambda raw: _coverage(raw, alive_ms))


def _look(
    raw: sqlite3.Connection, selection: str | None, value: str | None, counts: bool, limit: int, wall_ms: int
) -> Explained:
    clock, tick, mode, version, pause_version, unfinished, _ = raw.execute(_sql("clock")).fetchone()
    now = tick if clock == "logical" else wall_ms
    given: dict[str, Any] = {"now": now, "alive_ms": wall_ms - ALIVE_MS, "limit": limit}
    rows = raw.execute(_sql("causes", "counts"), given).fetchall() if counts else []
    counted = tuple(Count(*row) for row in rows)
    if selection is None:
        causes = dict.fromkeys(count.cause for count in counted)
        named = tuple(blocker for cause in causes for blocker in _named(raw, "cause", cause, given))
    else:
        named = _named(raw, selection, value, given)
    covers = _coverage(raw, given["alive_ms"])
    return Explained(clock, now, mode, version, pause_version == version, unfinished, counted, named, covers)


def _named(
    raw: sqlite3.Connection, selection: str, value: str | None, given: Mapping[str, Any]
) -> tuple[Blocker, ...]:
    rows = raw.execute(_sql("causes", "details", f"of_{selection}"), {**given, selection: value})
    return tuple(_blocker(row) for row in rows)


def _blocker(row: Sequence[Any]) -> Blocker:
    *most, alive, quarantined_at, behind = row
    return Blocker(*most, bool(alive), None if quarantined_at in (None, -1) else quarantined_at, behind)


def _coverage(raw: sqlite3.Connection, alive_ms: int) -> tuple[Coverage, ...]:
    return tuple(
        Coverage(*most, tuple(sorted(msgspec.json.decode(workers))))
        for *most, workers in raw.execute(_sql("coverage"), {"alive_ms": alive_ms})
    )


def _sql(*names: str) -> str:
    return "\n".join(every()[f"explain.{name}"] for name in names)

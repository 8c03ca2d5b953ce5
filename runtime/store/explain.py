"""What every unfinished job waits for, as facts from one read transaction; the words for people are the control's."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.protocol.records import Record
from runtime.store.reads import GONE_AFTER_MS, Reader, Reads
from runtime.store.transaction import SQL


class Count(Record, frozen=True):
    """Unfinished jobs of one cause and definition; `oldest`: since when the first is in its state."""

    cause: str
    digest: str
    workflow: str
    jobs: int
    oldest: int


class Blocker(Record, frozen=True):
    """One unfinished job and its one cause.

    cause: `ready` (its turn comes), `undeclared` (no live worker declares its digest), `behind` (a job of its flow
    comes first), `full` (its free flow's places are taken), `waiting` and `due` (backing off, over), `leased`,
    `lapsed`, `held` (in flight: lease live, over, over under `hold`), `quarantined`. `since`: in its present state.
    Times in the store's clock.
    """

    cause: str
    job: str
    workflow: str
    flow: str | None
    seq: int
    digest: str
    admitted_at: int
    since: int
    due: int | None
    lease_until: int | None
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
    return await store.read(lambda reader: _look(reader, selection, value, counts, limit, wall_ms))


async def coverage(store: Reads) -> tuple[Coverage, ...]:
    """Every registered definition, its jobs, and the live workers that declare it."""
    alive_ms = time.time_ns() // 1_000_000 - GONE_AFTER_MS
    return await store.read(lambda reader: coverage_rows(reader, alive_ms))


def _look(
    reader: Reader, selection: str | None, value: str | None, counts: bool, limit: int, wall_ms: int
) -> Explained:
    control = reader.control()
    now = control.tick if control.clock == "logical" else wall_ms
    given: dict[str, Any] = {"now": now, "alive_ms": wall_ms - GONE_AFTER_MS, "limit": limit}
    rows = _rows(reader, given, "causes", "counts") if counts else []
    counted = tuple(Count(*row) for row in rows)
    if selection is None:
        causes = dict.fromkeys(count.cause for count in counted)
        named = tuple(blocker for cause in causes for blocker in _named(reader, "cause", cause, given))
    else:
        named = _named(reader, selection, value, given)
    return Explained(
        clock=control.clock,
        now=now,
        mode=control.mode,
        version=control.version,
        pause_when_empty=control.pause_version == control.version,
        unfinished=control.unfinished,
        counts=counted,
        blockers=named,
        coverage=coverage_rows(reader, given["alive_ms"]),
    )


def _named(reader: Reader, selection: str, value: str | None, given: Mapping[str, Any]) -> tuple[Blocker, ...]:
    rows = _rows(reader, {**given, selection: value}, "causes", "details", f"of_{selection}")
    return tuple(_blocker(row) for row in rows)


def _blocker(row: Sequence[Any]) -> Blocker:
    return Blocker(*(*row[:-2], bool(row[-2]), row[-1]))


def coverage_rows(reader: Reader, alive_ms: int) -> tuple[Coverage, ...]:
    """The coverage within a read transaction; `alive_ms` is when a live worker was last heard of at the earliest."""
    rows = reader.rows("explain.coverage", {"alive_ms": alive_ms})
    return tuple(Coverage(*(*row[:5], tuple(sorted(msgspec.json.decode(row[5]))))) for row in rows)


def _rows(reader: Reader, params: Mapping[str, Any], *names: str) -> list[tuple[Any, ...]]:
    return reader.raw.execute("\n".join(SQL[f"explain.{name}"] for name in names), params).fetchall()

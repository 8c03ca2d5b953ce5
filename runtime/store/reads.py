"""What a store can be asked without writing: on a connection of its own, each answer from one read transaction."""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from runtime.protocol.canonical import decode
from runtime.protocol.errors import InvalidValue, RegistryDamaged, StoreClosed, WriteFailed
from runtime.protocol.lifecycle import Definition, Phase
from runtime.protocol.manifest import Manifest, manifest_from_bytes
from runtime.protocol.records import (
    Audit,
    Effect,
    FlowRecord,
    History,
    JobRecord,
    Presence,
    Route,
    Snapshot,
    Worker,
)
from runtime.protocol.verdicts import Mode
from runtime.store.guard import MARK
from runtime.store.sqlite import Connection, Files, named
from runtime.store.transaction import SQL, Control
from runtime.store.turnstile import mark_of
from runtime.store.verbs.record import record

GONE_AFTER_MS = 3_000
PHASES: Mapping[str, tuple[Phase, ...]] = {
    "ready": (Phase.READY,),
    "waiting": (Phase.WAITING,),
    "inflight": (Phase.INFLIGHT, Phase.HELD),
    "quarantined": (Phase.QUARANTINED,),
    "done": (Phase.DONE,),
}
Result = TypeVar("Result")
Row = tuple[Any, ...]


class Reader:
    """The statements at hand inside one read transaction."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def rows(self, name: str, params: Mapping[str, Any] | Sequence[Any] = ()) -> list[Row]:
        """All rows of a named statement."""
        return self.raw.execute(SQL[name], params).fetchall()

    def control(self) -> Control:
        """The control row and the store's counters."""
        return Control.of(self.rows("look.control"))


class Watch:
    """A cheap look at whether anybody wrote to a database: the mark of the last unit."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen = b""

    def moved(self) -> bool:
        """Whether somebody has written since the last call: whatever it was can be read."""
        seen = mark_of(self._path)
        changed = seen != self._seen
        self._seen = seen
        return changed


class Reads:
    """The reading half of a store."""

    def __init__(self, files: Files, reader: Connection, store_id: str, clock: str) -> None:
        self._files = files
        self._reader = reader
        self._opened_by = os.getpid()
        self._watch = Watch(files.path)
        self.store_id = store_id
        self.clock = clock

    @property
    def path(self) -> str:
        """The database's real path."""
        return self._files.path

    async def read(self, unit: Callable[[Reader], Result]) -> Result:
        """Run a plain function over one read transaction, in one hop."""
        if os.getpid() != self._opened_by:
            raise StoreClosed("this store was opened by another process: open it anew after a fork")

        def run(raw: sqlite3.Connection) -> Result:
            try:
                raw.execute("begin")
                try:
                    return unit(Reader(raw))
                finally:
                    if raw.in_transaction:
                        raw.execute("rollback")
            except sqlite3.Error as error:
                raise named(error, "read") from error

        try:
            return await self._reader.run(run)
        except ValueError as error:
            if "connection" in str(error).lower():
                raise StoreClosed("the store is closed: open it anew") from None
            raise

    def moved(self) -> bool:
        """Whether somebody may have written since the last call; what a full disk or a killed writer hides comes with
        the next write."""
        return self._watch.moved()

    async def look(self, worker: Worker) -> tuple[Mode, bool, int | None]:
        """The mode, whether a job that `worker` declares may be claimed now, and when the clock next acts on a job."""
        digests = json.dumps(list(worker.manifests))

        def unit(reader: Reader) -> tuple[Mode, bool, int | None]:
            mode = Mode(reader.control().mode)
            claimable = bool(reader.rows("look.claimable", {"digests": digests})[0][0])
            return mode, claimable, reader.rows("look.next_due")[0][0]

        return await self.read(unit)

    async def control(self) -> Control:
        """Mode, version, counters and settings."""
        return await self.read(Reader.control)

    async def snapshot(self, flows: int = 100) -> Snapshot:
        """One photograph; at most `flows` flows, those with most unfinished jobs first."""
        file_bytes = self.file_bytes()
        return await self.read(lambda reader: photograph(reader, flows, file_bytes))

    def file_bytes(self) -> int:
        """The size of the database with its write-ahead file."""
        return os.stat(self._files.path).st_size + self._files.wal_bytes()

    async def workers(self) -> tuple[Presence, ...]:
        """The processes that have said they live."""
        wall_ms = time.time_ns() // 1_000_000
        return await self.read(lambda reader: _presence(reader.rows("look.presence"), wall_ms))

    async def job(self, id: str) -> JobRecord | None:  # noqa: A002  the contract's own word
        """A job by its identity, or None."""
        rows = await self.read(lambda reader: reader.rows("look.job", {"key": id}))
        return job_record(rows[0]) if rows else None

    async def jobs(
        self,
        *,
        state: str | None = None,
        flow: str | None = None,
        digest: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[JobRecord]:
        """Jobs as they were admitted, behind the job `after`; `state`: ready, waiting, inflight, quarantined, done."""
        if state is not None and state not in PHASES:
            raise InvalidValue("state", f"one of {', '.join(PHASES)} is expected, got {state!r}")
        states = None if state is None else json.dumps([int(phase) for phase in PHASES[state]])
        params = {"states": states, "flow": flow, "digest": digest, "after": after, "limit": limit}
        rows = await self.read(lambda reader: reader.rows("look.jobs", params))
        return [job_record(row) for row in rows]

    async def payload(self, id: str) -> Any:  # noqa: A002
        """A job's payload, or None if there is no such job."""
        rows = await self.read(lambda reader: reader.rows("look.payload", {"key": id}))
        return decode(rows[0][0]) if rows else None

    async def effects(self, id: str) -> list[Effect]:  # noqa: A002
        """A job's effects, in step order."""
        rows = await self.read(lambda reader: reader.rows("look.effects", {"key": id}))
        return [Effect(*(*row[:3], decode(row[3]), *row[4:])) for row in rows]

    async def history(self, id: str) -> list[History]:  # noqa: A002
        """What went wrong with a job and was handed back, oldest first."""
        rows = await self.read(lambda reader: reader.rows("look.history", {"key": id}))
        return [History(id, *row) for row in rows]

    async def audit(self, job: str | None = None, *, limit: int = 1000) -> list[Audit]:
        """Operators' acts: of one job, oldest first, or the latest of the store, newest first."""
        name = "look.audit" if job is None else "look.audit_of"
        params = {"limit": limit} if job is None else {"key": job, "limit": limit}
        rows = await self.read(lambda reader: reader.rows(name, params))
        return [audit_of(row) for row in rows]

    async def flow(self, name: str) -> FlowRecord | None:
        """A named flow's dispatch state, or None."""
        rows = await self.read(lambda reader: reader.rows("look.flow", {"name": name}))
        return _flow(rows[0]) if rows else None

    async def head(self, flow: str) -> JobRecord | None:
        """A flow's first unfinished job, or None."""

        def unit(reader: Reader) -> list[Row]:
            keys = reader.rows("look.head", {"name": flow})
            return reader.rows("look.job", {"key": keys[0][0]}) if keys else []

        rows = await self.read(unit)
        return job_record(rows[0]) if rows else None

    async def definitions(self) -> list[tuple[str, Manifest]]:
        """Every registered manifest with its digest, in the order of registration.

        `RegistryDamaged` for one that cannot be read as a manifest.
        """
        rows = await self.read(lambda reader: reader.rows("look.definitions"))
        return [(digest, _manifest(digest, data)) for digest, data in rows]

    async def query(self, sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """Rows of a reading statement; anything that would write fails."""

        def unit(reader: Reader) -> list[Row]:
            guard = reader.raw.guard  # type: ignore[attr-defined]
            try:
                with guard.reading():
                    return reader.raw.execute(MARK + sql, params).fetchall()
            except (sqlite3.Error, sqlite3.Warning) as error:
                raise WriteFailed(f"the query failed: {guard.refused or error}; in: {sql[:200]}") from error

        return await self.read(unit)

    async def dump(self) -> dict[str, list[list[Any]]]:
        """Every table of the engine, rows in order, from one read transaction; for comparing whole states."""

        def unit(reader: Reader) -> dict[str, list[list[Any]]]:
            tables = [name for (name,) in reader.rows("look.tables")]
            return {table: _whole(reader.raw, table) for table in tables}

        return await self.read(unit)


def audit_of(row: Row) -> Audit:
    """A record from a row of `look.audit`."""
    return Audit(*(*row[:4], decode(row[4]), decode(row[5]), *row[6:]))


def photograph(reader: Reader, flows: int, file_bytes: int) -> Snapshot:
    """A snapshot within a read transaction."""
    control = reader.control()
    wall_ms = time.time_ns() // 1_000_000
    jobs, unfinished = _counts(reader.rows("look.tally"))
    return Snapshot(
        taken_at=wall_ms if control.clock == "wall" else control.tick,
        mode=Mode(control.mode),
        version=control.version,
        pause_when_empty=control.pause_version == control.version,
        jobs=jobs,
        unfinished_by_definition=unfinished,
        effects=control.effects,
        ticket=control.ticket,
        routes=tuple(Route(*row) for row in reader.rows("look.routes")),
        flows=tuple(_flow(row) for row in reader.rows("look.flows", {"limit": flows})),
        workers=_presence(reader.rows("look.presence"), wall_ms),
        releases=control.releases,
        file_bytes=file_bytes,
    )


def _whole(raw: sqlite3.Connection, table: str) -> list[list[Any]]:
    cursor = raw.execute('select * from "' + table + '"')
    columns = [column[0] for column in cursor.description]
    rows = sorted(([*row] for row in cursor.fetchall()), key=lambda row: [(str(type(v)), v) for v in row])
    return [columns, *rows]


def job_record(row: Row) -> JobRecord:
    """A record from a row of `look.job`."""
    accepted = Definition(row[3], row[17], row[18], ())
    current = Definition(row[4], row[19], row[20], ())
    return record(row, accepted, current)


def _flow(row: Row) -> FlowRecord:
    name, width, *rest = row
    return FlowRecord(name, width or None, *rest)


def _presence(rows: Iterable[Row], wall_ms: int) -> tuple[Presence, ...]:
    return tuple(
        Presence(*(*row[:5], tuple(decode(row[5])), row[6], abs(wall_ms - row[4]) <= GONE_AFTER_MS)) for row in rows
    )


def _counts(rows: Iterable[Row]) -> tuple[dict[str, int], dict[str, int]]:
    jobs = dict.fromkeys(PHASES, 0)
    unfinished: dict[str, int] = {}
    words = {phase: word for word, phases in PHASES.items() for phase in phases}
    for digest, state, n in rows:
        jobs[words[Phase(state)]] += n
        if state != Phase.DONE:
            unfinished[digest] = unfinished.get(digest, 0) + n
    return jobs, unfinished


def _manifest(digest: str, data: bytes) -> Manifest:
    try:
        return manifest_from_bytes(data)
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidValue) as error:
        raise RegistryDamaged(digest) from error

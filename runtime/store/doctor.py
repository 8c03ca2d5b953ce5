"""What a file says about itself when it is looked at closely: wholeness, counters against a recount, sizes, modes."""

import os
import sqlite3
import stat

from runtime.protocol.records import Record
from runtime.store.reads import Reader, Reads
from runtime.store.statements import numbered
from runtime.store.transaction import COUNTERS, Control


class Seen(Record, frozen=True):
    """A presence row; `seen_at_ms` is wall time."""

    worker: str
    host: str
    pid: int
    seen_at_ms: int


class Examination(Record, frozen=True):
    """The facts; judging them is the control's. Empty tuples are good news. Times in the store's clock.

    `registry`: digest, workflow and the stored bytes of every definition.
    """

    path: str
    mode: int
    file_bytes: int
    wal_bytes: int
    engine: str
    schema: int
    newest_schema: int
    quick_check: tuple[str, ...]
    foreign_keys: tuple[str, ...]
    clock: str
    tick: int
    newest: int | None
    unfinished: tuple[int, int]
    effects: tuple[int, int, int]
    ticket: tuple[int, int]
    counters: tuple[int, int]
    tally: tuple[str, ...]
    flows_wrong: int
    presence: tuple[Seen, ...]
    registry: tuple[tuple[str, str, bytes], ...]


async def examine(store: Reads) -> Examination:
    """Read everything in one transaction; takes as long as the file is large."""
    return await store.read(lambda reader: _examine(reader, store.path))


async def damage(store: Reads) -> str | None:
    """What is wrong with a file that cannot be read to its end; None for one that can be."""
    return await store.read(_damage)


def _damage(reader: Reader) -> str | None:
    try:
        found = [str(row[0]) for row in reader.raw.execute("pragma quick_check") if row[0] != "ok"]
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return str(error)
    return found[0] if found else None


def _examine(reader: Reader, path: str) -> Examination:
    raw = reader.raw
    (schema,) = raw.execute("pragma user_version").fetchone()
    quick = tuple(str(row[0]) for row in raw.execute("pragma quick_check") if row[0] != "ok")
    foreign = tuple(f"{row[0]} row {row[1]} → {row[2]}" for row in raw.execute("pragma foreign_key_check"))
    clock, tick, *counters = reader.rows("doctor.counters")[0]
    (newest,) = reader.rows("doctor.newest")[0]
    wal = f"{path}-wal"
    return Examination(
        path=path,
        mode=stat.S_IMODE(os.stat(path).st_mode),
        file_bytes=os.stat(path).st_size,
        wal_bytes=os.stat(wal).st_size if os.path.exists(wal) else 0,
        engine=sqlite3.sqlite_version,
        schema=schema,
        newest_schema=numbered("migrations")[-1][0],
        quick_check=quick,
        foreign_keys=foreign,
        clock=clock,
        tick=tick,
        newest=newest,
        unfinished=(counters[0], counters[1]),
        effects=(counters[2], counters[3], counters[4]),
        ticket=(counters[5], counters[6]),
        counters=(counters[7], len(Control.__struct_fields__) - COUNTERS),
        tally=tuple(
            f"{digest[:12]} state {state}: {tally}, recounted {recount}"
            for digest, state, tally, recount in reader.rows("doctor.tally")
        ),
        flows_wrong=reader.rows("doctor.flows")[0][0],
        presence=tuple(Seen(*row) for row in reader.rows("doctor.presence")),
        registry=tuple((digest, workflow, data) for digest, workflow, data in reader.rows("doctor.registry")),
    )

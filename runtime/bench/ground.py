"""What the machine itself gives: plain sqlite3 and fsync, measured in the same folder. The limits of the figures."""

import errno
import os
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

from runtime import loop
from runtime.bench.figures import percentile

ROWS = 300
SYNCS = 200
PAGE_BYTES = 4096


def connect(path: Path) -> sqlite3.Connection:
    """A plain connection with the durability of the store: WAL, `synchronous=FULL`; the rest is as it comes."""
    raw = sqlite3.connect(path, isolation_level=None, cached_statements=512)
    for pragma in ("journal_mode = wal", "synchronous = full", "cache_size = -65536"):
        raw.execute(f"pragma {pragma}")
    return raw


def rows_per_s(folder: Path, count: int = ROWS, portion: int = 1) -> float:
    """Rows written a second on plain sqlite3, `portion` of them in each commit."""
    path = folder / "ground.db"
    raw = connect(path)
    try:
        raw.execute("create table row (id integer primary key, key text not null unique, body text not null)")
        started = time.perf_counter()
        for first in range(0, count, portion):
            numbers = range(first, min(first + portion, count))
            raw.execute("begin immediate")
            new = [(f"job-{number}", f'{{"n":{number}}}') for number in numbers]
            raw.executemany("insert into row (key, body) values (?, ?)", new)
            raw.execute("commit")
        return count / (time.perf_counter() - started)
    finally:
        raw.close()
        for companion in ("", "-wal", "-shm"):
            Path(f"{path}{companion}").unlink(missing_ok=True)


def fsync_ms(folder: Path) -> list[float]:
    """Milliseconds of one page appended and made durable, sample by sample."""
    path = folder / "ground.bin"
    taken = []
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        for _ in range(SYNCS):
            started = time.perf_counter()
            os.write(descriptor, b"\0" * PAGE_BYTES)
            os.fdatasync(descriptor) if hasattr(os, "fdatasync") else os.fsync(descriptor)
            taken.append((time.perf_counter() - started) * 1000)
    finally:
        os.close(descriptor)
        path.unlink()
    return taken


def is_full(error: Exception) -> bool:
    """Whether it says that the disk has no room."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno == errno.ENOSPC


def machine(folder: Path) -> dict[str, Any]:
    """What was measured on: versions, cores, and what making one page durable takes here."""
    syncs = fsync_ms(folder)
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "sqlite": sqlite3.sqlite_version,
        "loop": loop.name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "fsync_ms": {"p50": percentile(syncs, 0.5), "p99": percentile(syncs, 0.99)},
        "one_row_commits_per_s": rows_per_s(folder),
    }

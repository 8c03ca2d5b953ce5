"""Faults put into a file on purpose, to show that a verb happens whole or not at all, and what notices damage."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from runtime.store.turnstile import Turnstile

TEXT = "fault planted on purpose"


def plant(path: str, table: str, event: str = "insert") -> None:
    """Make every `event` (insert, update or delete) on `table` fail, inside whatever transaction attempts it."""
    with _turn(path) as raw:
        raw.execute(
            f"create trigger fault_{table}_{event} before {event} on {table} begin select raise(abort, '{TEXT}'); end"
        )


def lift(path: str) -> None:
    """Take away every planted fault."""
    with _turn(path) as raw:
        for (name,) in raw.execute(
            "select name from sqlite_schema where type = 'trigger' and name like 'fault_%'"
        ).fetchall():
            raw.execute(f"drop trigger {name}")


def damage(path: str, digest: str, old: str, new: str) -> None:
    """Edit a definition's stored manifest by hand, behind the store's back."""
    with _turn(path) as raw:
        raw.execute(
            "update keepstep_definition set manifest = replace(manifest, ?, ?) where digest = ?", (old, new, digest)
        )


@contextmanager
def _turn(path: str, deadline_ms: int = 10_000) -> Iterator[sqlite3.Connection]:
    turnstile = Turnstile(path)
    try:
        turnstile.enter(time.monotonic() + deadline_ms / 1000)
        with closing(sqlite3.connect(path, isolation_level=None)) as raw:
            raw.execute("pragma wal_autocheckpoint = 0")
            yield raw
    finally:
        turnstile.close()

"""The file's schema, forward only: numbered migrations, all that a file lacks in one transaction, inside a turn."""

import sqlite3
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from runtime.protocol.errors import CommitUnknown, NewerSchema, StoreError, StoreFull
from runtime.store import points, statements
from runtime.store.sqlite import APPLICATION_ID, Files, named
from runtime.store.turnstile import Turnstile

Migrations = tuple[tuple[int, str, Mapping[str, str]], ...]


class Kind(NamedTuple):
    """A kind of file: the verb that its points are named by, the table of its migrations, its application id."""

    verb: str
    table: str
    application: int


STORE = Kind("upgrade", "keepstep_schema", APPLICATION_ID)


def prepare(
    files: Files, *, clock: str, store_id: str | None, deadline_ms: int
) -> Callable[[sqlite3.Connection], tuple[str, str]]:
    """A unit that brings the schema up to date, writes a new store's control row, and tells its id and clock."""

    def first_row(raw: sqlite3.Connection) -> None:
        raw.execute(
            "insert into keepstep_control (id, store_id, clock, created_at) values (1, ?, ?, ?) on conflict do nothing",
            (store_id or uuid.uuid4().hex, clock, time.time_ns() // 1_000_000),
        )

    bring = upgrade(files, STORE, first_row, deadline_ms=deadline_ms)

    def unit(raw: sqlite3.Connection) -> tuple[str, str]:
        bring(raw)
        try:
            found: tuple[str, str] = raw.execute("select store_id, clock from keepstep_control").fetchone()
        except sqlite3.Error as error:
            raise named(error, f"{files.path}: its control row cannot be read") from error
        return found

    return unit


def upgrade(
    files: Files, kind: Kind, first_row: Callable[[sqlite3.Connection], None], *, deadline_ms: int
) -> Callable[[sqlite3.Connection], None]:
    """A unit that runs what is missing of the kind's migrations; a newer file is refused untouched."""
    migrations: Migrations = statements.numbered(points.UPGRADES[kind.verb])
    newest = migrations[-1][0]

    def unit(raw: sqlite3.Connection) -> None:
        version = _version(raw, files, newest)
        if version == newest:
            return
        turnstile = Turnstile(files.path)
        try:
            turnstile.enter(time.monotonic() + deadline_ms / 1000)
            try:
                _migrate(raw, files, kind, migrations, first_row)
            finally:
                turnstile.leave()
        finally:
            turnstile.close()

    return unit


def _version(raw: sqlite3.Connection, files: Files, newest: int) -> int:
    try:
        (version,) = raw.execute("pragma user_version").fetchone()
    except sqlite3.Error as error:
        raise named(error, f"{files.path}: its schema's number cannot be read") from error
    if version > newest:
        raise NewerSchema(
            f"{files.path}: its schema is number {version}, this keepstep knows {newest}; it is left untouched, "
            f"use the keepstep that wrote it or a newer one"
        )
    return int(version)


def _migrate(
    raw: sqlite3.Connection,
    files: Files,
    kind: Kind,
    migrations: Migrations,
    first_row: Callable[[sqlite3.Connection], None],
) -> None:
    doing = "its schema could not be brought up to date"
    try:
        raw.execute("begin immediate")
        points.reach(kind.verb, "begin")
        version = _version(raw, files, migrations[-1][0])
        for number, name, parts in migrations:
            if number > version:
                doing = f"migration {number} ({name}) failed and was undone"
                _run(raw, kind, number, name, parts, first_row)
        points.reach(kind.verb, "before_commit")
    except sqlite3.Error as error:
        _roll_back(raw)
        raise named(error, f"{files.path}: {doing}") from error
    except NewerSchema:
        _roll_back(raw)
        raise
    try:
        raw.execute("commit")
    except sqlite3.Error as error:
        _roll_back(raw)
        raise _uncommitted(error, files.path) from error
    points.reach(kind.verb, "after_commit")


def _uncommitted(error: sqlite3.Error, path: str) -> StoreError:
    failure = named(error, f"{path}: its schema could not be brought up to date")
    if isinstance(failure, StoreFull):
        return failure
    return CommitUnknown(
        f"{path}: COMMIT failed ({error}) while its schema was brought up to date: whether it happened is unknown; "
        f"open it again, it is either as it was or up to date"
    )


def _run(
    raw: sqlite3.Connection,
    kind: Kind,
    number: int,
    name: str,
    parts: Mapping[str, str],
    first_row: Callable[[sqlite3.Connection], None],
) -> None:
    for part, sql in parts.items():
        raw.execute(sql)
        points.reach(kind.verb, part)
    if number == 1:
        first_row(raw)
        points.reach(kind.verb, "first_row")
        raw.execute(f"pragma application_id = {kind.application}")
        points.reach(kind.verb, "application_id")
    at_ms = time.time_ns() // 1_000_000
    raw.execute("insert into " + kind.table + " (version, name, at_ms) values (?, ?, ?)", (number, name, at_ms))
    points.reach(kind.verb, "version")
    raw.execute(f"pragma user_version = {number}")
    points.reach(kind.verb, "user_version")


def _roll_back(raw: sqlite3.Connection) -> None:
    """The first error is the one that counts; the connection is closed anyhow."""
    with suppress(sqlite3.Error):
        if raw.in_transaction:
            raw.execute("rollback")

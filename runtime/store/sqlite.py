"""The driver: which files, which connections with which pragmas, one hop per unit, and the names of errors."""

import asyncio
import os
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import aiosqlite
from anyio import CancelScope

from runtime.protocol.errors import CommitUnknown, ForeignFile, StoreBusy, StoreError, StoreFull, UnsafePath
from runtime.store.guard import Guard

FLOOR = (3, 40, 0)
APPLICATION_ID = 0x4B535450
FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
BESIDE = ("-wal", "-shm", "-journal", "-queue", "-turn")
Result = TypeVar("Result")
EVERYBODYS = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOTADB,
}


class Raw(sqlite3.Connection):
    """The driver's connection, with the guard of handlers' own statements."""

    guard: Guard


class Connection(aiosqlite.Connection):
    """An aiosqlite connection that runs a whole plain function in one hop on its own thread."""

    async def run(self, unit: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `unit` with the raw connection on this connection's thread; nothing can come in between."""
        return await self._execute(unit, self._conn)  # type: ignore[no-any-return, no-untyped-call]

    def hand_over(self, unit: Callable[[Raw], None]) -> None:
        """As `run`, without waiting: the unit tells its outcome by itself and raises nothing; ValueError if closed."""
        self._tx.put_nowait((None, partial(unit, cast(Raw, self._conn))))

    async def begin(self) -> None:
        """Open the file. What the thread opens for a caller who is cancelled meanwhile is closed again."""
        opening = asyncio.ensure_future(self)
        try:
            await asyncio.shield(opening)
        except asyncio.CancelledError:
            if not opening.done():
                opening.add_done_callback(self._abandon)
            raise

    def _abandon(self, opening: "asyncio.Future[aiosqlite.Connection]") -> None:
        if not opening.cancelled():
            opening.exception()
        self.stop()

    async def close(self) -> None:
        """Close the connection and end its thread, also while the caller is being cancelled."""
        with CancelScope(shield=True):
            await super().close()


class Files:
    """A database file whose path was looked at: a private regular file of ours."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.wal = f"{path}-wal"

    @classmethod
    def check(cls, path: str | os.PathLike[str], *, create: bool) -> "Files":
        """Look at the path; make the file (0600) if it is missing and `create`. Raises `UnsafePath` with the reason."""
        given = Path(path)
        try:
            folder = given.parent.resolve(strict=True)
        except OSError as error:
            raise UnsafePath(f"{given}: its directory cannot be used ({error.strerror}); make it first") from None
        found = folder / given.name
        _check_folder(folder)
        if not os.path.lexists(found):
            if not create:
                make = f"python -m runtime db init --db {given}"
                raise UnsafePath(f"{found}: no such file; check the path, or create it with `{make}`")
            try:
                os.close(os.open(found, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            except FileExistsError:
                pass
            except OSError as error:
                raise UnsafePath(f"{found}: cannot be created ({error.strerror}); name another path") from None
        _check_file(found)
        for suffix in BESIDE:
            # what is not there is made in time, and what another process takes away meanwhile is no danger
            with suppress(FileNotFoundError):
                _check_file(Path(f"{found}{suffix}"))
        return cls(str(found))

    def remove_empty(self) -> None:
        """Leave no half-made file behind: remove it and its lock files if nothing was ever written to it."""
        with suppress(OSError):
            if os.stat(self.path).st_size == 0:
                for name in (self.path, f"{self.path}-queue", f"{self.path}-turn"):
                    Path(name).unlink(missing_ok=True)

    def wal_bytes(self) -> int:
        """The size of the write-ahead file, 0 if there is none.

        Whoever asks for a file's status asks for its times: Linux then gives the next write an exact one, which costs
        that commit as much as another page. Its end can be found without.
        """
        with suppress(OSError):
            descriptor = os.open(self.wal, os.O_RDONLY | FLAGS)
            try:
                return os.lseek(descriptor, 0, os.SEEK_END)
            finally:
                os.close(descriptor)
        # there is none, or no descriptor to be had
        try:
            return os.stat(self.wal).st_size
        except OSError:
            return 0


def _check_folder(folder: Path) -> None:
    status = folder.stat()
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX:
        raise UnsafePath(f"{folder}: others can write to this directory; take that away (chmod go-w) or use another")


def _check_file(path: Path) -> None:
    status = path.lstat()
    causes = {
        "is a symlink": stat.S_ISLNK(status.st_mode),
        "is not a regular file": not stat.S_ISREG(status.st_mode),
        "has more than one link": stat.S_ISREG(status.st_mode) and status.st_nlink > 1,
        "belongs to another user": status.st_uid != os.geteuid(),
        "is writable by others": bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)),
    }
    for cause, holds in causes.items():
        if holds:
            todo = "make it your own and private (`chmod go-w`), or name another path"
            raise UnsafePath(f"{path}: {cause}; a private regular file is expected: {todo}")


async def open_writer(
    files: Files, *, durability: str, deadline_ms: int, application: int = APPLICATION_ID
) -> Connection:
    """A connection that writes: WAL, foreign keys on, `synchronous` FULL unless durability is `normal`, no automatic
    checkpoint."""
    if sqlite3.sqlite_version_info < FLOOR:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old: 3.40 is the floor; take a newer Python")
    levels = {"full": 2, "normal": 1}
    if durability not in levels:
        raise StoreError(f"durability {durability!r} is unknown: 'full' or 'normal' is expected")
    connection = _connect(files)
    try:
        await connection.begin()
        await connection.run(lambda raw: _set_pragmas(raw, files, application, levels[durability], deadline_ms))
    except BaseException:
        await connection.close()
        raise
    return connection


async def open_reader(files: Files) -> Connection:
    """A connection that only reads."""
    connection = _connect(files)
    try:
        await connection.begin()
        await connection.run(_set_reader_pragmas)
    except BaseException:
        await connection.close()
        raise
    return connection


def _connect(files: Files) -> Connection:
    def connector() -> sqlite3.Connection:
        raw = sqlite3.connect(files.path, isolation_level=None, cached_statements=512, timeout=5, factory=Raw)
        raw.guard = Guard(raw)
        return raw

    connection = Connection(connector, iter_chunk_size=64)
    # a program that forgets to close must still be able to end; SQLite survives an unclosed connection
    connection._thread.daemon = True
    return connection


def _set_pragmas(raw: sqlite3.Connection, files: Files, wanted: int, level: int, deadline_ms: int) -> None:
    raw.execute(f"pragma busy_timeout = {int(deadline_ms)}")
    _check_application(raw, files, wanted)
    for pragma in (
        "foreign_keys = on",
        "wal_autocheckpoint = 0",
        "mmap_size = 0",
        "trusted_schema = off",
        "cell_size_check = on",
        "recursive_triggers = on",
        "cache_size = -65536",
        "temp_store = memory",
    ):
        raw.execute(f"pragma {pragma}")
    _set_journal(raw, files, deadline_ms)
    raw.execute(f"pragma synchronous = {level}")
    if raw.execute("pragma synchronous").fetchone() != (level,):
        raise StoreError(f"{files.path}: the asked durability could not be set")


def _check_application(raw: sqlite3.Connection, files: Files, wanted: int) -> None:
    try:
        # one read transaction: another process may be making the schema at this moment
        raw.execute("begin")
        try:
            (application,) = raw.execute("pragma application_id").fetchone()
            (tables,) = raw.execute("select count(*) from sqlite_schema").fetchone()
        finally:
            with suppress(sqlite3.Error):  # the first error is the one that counts
                raw.execute("rollback")
    except sqlite3.DatabaseError as error:
        raise named(error, f"{files.path}: cannot be read as a database") from error
    if application != wanted and (application or tables):
        raise ForeignFile(f"{files.path}: is another application's database; it is left untouched, choose another path")


def _set_journal(raw: sqlite3.Connection, files: Files, deadline_ms: int) -> None:
    deadline = time.monotonic() + deadline_ms / 1000
    while True:
        try:
            (journal,) = raw.execute("pragma journal_mode = wal").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise named(error, f"{files.path}: write-ahead logging cannot be set") from error
            time.sleep(0.005)
        else:
            break
    if journal != "wal":
        raise StoreError(
            f"{files.path}: write-ahead logging cannot be set (the file system answers {journal!r}); "
            f"put the database on a local disk"
        )


def _set_reader_pragmas(raw: sqlite3.Connection) -> None:
    for pragma in ("busy_timeout = 5000", "query_only = on", "cell_size_check = on", "mmap_size = 0"):
        raw.execute(f"pragma {pragma}")


def is_everybodys(error: sqlite3.Error) -> bool:
    """Whether an error is of the lock, the disk or the file, and so of everybody in the transaction.

    A virtual table that calls itself malformed, as a full-text table does when it is asked to take out what is not in
    it, speaks of an app's own table and not of the file.
    """
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF in EVERYBODYS and code != sqlite3.SQLITE_CORRUPT_VTAB


def named(error: BaseException, doing: str) -> StoreError:
    """The driver's error under this project's name; the original goes along as the cause."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    primary = code & 0xFF
    text = f"{doing}: {error}"
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{text}; another program holds the write lock longer than the deadline, nothing was written")
    if primary == sqlite3.SQLITE_FULL:
        return StoreFull(f"{text}; the store is full, nothing was written: make room and try again")
    if primary == sqlite3.SQLITE_NOTADB:
        return ForeignFile(f"{text}; it is left untouched, choose another path")
    return StoreError(text)


def unknown(error: BaseException) -> StoreError:
    """What an error out of COMMIT itself means."""
    if (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF == sqlite3.SQLITE_FULL:
        return named(error, "commit")
    return CommitUnknown(
        f"COMMIT failed ({error}): whether it happened is unknown; this process stops serving the store, "
        f"reopen it and look the jobs up by their identity"
    )

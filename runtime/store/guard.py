"""What a handler's own SQL may do: one data statement on its own tables, nothing that would end or widen a transaction.

The authorizer is installed once per connection and asks a flag: setting it anew would expire every prepared statement.
It is asked when a statement is prepared, so a user's text carries a mark of its own and never meets a cached statement.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

MARK = "/* app */ "
TABLES = "keepstep_"

READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
DATA = READS | {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
FORBIDDEN_IN_SCHEMA = {
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
    sqlite3.SQLITE_ANALYZE,
}


class Guard:
    """The authorizer of one connection; `strict` inside `data`, looser inside `schema`, silent otherwise."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw
        self._allowed: set[int] | None = None
        self._schema = False
        self._engine = False
        self.refused: str | None = None
        raw.set_authorizer(self._decide)

    @contextmanager
    def data(self) -> Iterator[None]:
        """Only data statements on tables that are not the engine's."""
        self.refused = None
        self._allowed = DATA
        try:
            yield
        finally:
            self._allowed = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Only what reads, on any table; a setting or another file is out of reach."""
        self.refused = None
        self._allowed, self._engine = READS, True
        try:
            yield
        finally:
            self._allowed, self._engine = None, False

    @contextmanager
    def schema(self) -> Iterator[None]:
        """Definitions of tables that are not the engine's too."""
        self.refused = None
        self._schema = True
        try:
            yield
        finally:
            self._schema = False

    def _decide(self, action: int, first: str | None, second: str | None, schema: str | None, inner: str | None) -> int:
        if self._allowed is None and not self._schema:
            return sqlite3.SQLITE_OK
        cause = self._cause(action, first, second)
        if cause is None:
            return sqlite3.SQLITE_OK
        self.refused = cause
        return sqlite3.SQLITE_DENY

    def _cause(self, action: int, first: str | None, second: str | None) -> str | None:
        if action == sqlite3.SQLITE_PRAGMA:
            # full-text tables look at this one by themselves
            return None if (first or "").lower() == "data_version" else "a pragma is not taken here"
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
            return "extensions are not loaded"
        for name in (first, second) if not self._engine else ():
            if name and name.lower().startswith(TABLES) and action not in (sqlite3.SQLITE_FUNCTION,):
                return f"the engine's own table {name} is not written or read by handlers"
        if self._schema:
            return "this statement is not taken in an app's schema" if action in FORBIDDEN_IN_SCHEMA else None
        assert self._allowed is not None
        if action in self._allowed:
            return None
        if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
            # asked when a full-text table is met for the first time; no statement may write there in any case
            return None
        return (
            "one that only reads is expected"
            if self._engine
            else "one data statement (insert, update, delete) is expected"
        )

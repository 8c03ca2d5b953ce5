"""ensure_schema: an app's own tables, made once, in a transaction of its own."""

import sqlite3
from collections.abc import Iterator, Sequence

from runtime.protocol.canonical import check_name, digest
from runtime.protocol.errors import InvalidValue, WriteFailed
from runtime.store import points
from runtime.store.transaction import Transaction


def ensure_schema(tx: Transaction, items: Sequence[tuple[str, str]]) -> list[bool]:
    """(name, sql): True if this call made it; a name that stands for other statements is an `InvalidValue`."""
    return [_ensure(tx, check_name(name, "schema name"), sql) for name, sql in items]


def _ensure(tx: Transaction, name: str, sql: str) -> bool:
    mark = digest(sql.encode())
    known = tx.rows("ensure_schema.known", {"name": name})
    if known:
        if known != [(mark,)]:
            raise InvalidValue(
                f"schema {name!r}", "was made with other statements; give a changed schema a new name"
            )
        return False
    guard = tx.raw.guard  # type: ignore[attr-defined]
    for statement in _statements(sql):
        try:
            with guard.schema():
                tx.raw.execute(statement)
            points.reach(tx.verb, "own")
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise WriteFailed(f"schema {name!r}: {guard.refused or error}; in: {statement[:200]}") from error
    tx.rows("ensure_schema.add", {"name": name, "digest": mark, "at_ms": tx.wall_ms})
    return True


def _statements(sql: str) -> Iterator[str]:
    text = ""
    for part in sql.split(";"):
        text += part + ";"
        if sqlite3.complete_statement(text):
            if text.strip(" \t\r\n;"):
                yield text
            text = ""
    if text.strip(" \t\r\n;"):
        yield text

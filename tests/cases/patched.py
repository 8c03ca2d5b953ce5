"""The command line in surroundings in which one thing does not work.

    python -m tests.cases.patched NAME work …
"""

import asyncio
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from runtime import faults, watch
from runtime.cli.app import main
from runtime.protocol.errors import StoreError
from runtime.store import group
from runtime.store.sqlite import Raw
from runtime.store.store import Store

SLOW_S = 0.5


def no_wal() -> None:
    """A file system on which the write-ahead log cannot be had."""

    def execute(self: Raw, sql: str, *parameters: Any) -> sqlite3.Cursor:
        asked = "select 'delete'" if sql == "pragma journal_mode = wal" else sql
        return sqlite3.Connection.execute(self, asked, *parameters)

    Raw.execute = execute  # type: ignore[assignment, method-assign]


def no_loop_signals() -> None:
    """An event loop that takes no signal handlers, as on Windows."""

    def refuse(*_: Any) -> None:
        raise NotImplementedError

    asyncio.SelectorEventLoop.add_signal_handler = refuse  # type: ignore[assignment, method-assign]


def store_fails() -> None:
    """A store whose turns fail for ever; the pauses between are short."""

    async def fails(*_: Any, **__: Any) -> Any:
        raise StoreError("the disk has gone away")

    faults.PAUSE_S = 0.05
    Store.settle = fails  # type: ignore[method-assign]
    Store.look = fails  # type: ignore[method-assign]


def unwatched() -> None:
    """A system that does not tell when a file is written."""
    watch.Watch.on = lambda *_: None  # type: ignore[method-assign]


def slow_commit() -> None:
    """A disk on which it takes its time to commit a step."""
    transact = group._transact

    def slowly(raw: sqlite3.Connection, requests: Sequence[Any], begin: group.Begin) -> None:
        if any(request.verb == "commit_step" for request in requests):
            time.sleep(SLOW_S)
        transact(raw, requests, begin)

    group._transact = slowly


PATCHES: dict[str, Callable[[], None]] = {
    patch.__name__: patch for patch in (no_wal, no_loop_signals, store_fails, unwatched, slow_commit)
}

if __name__ == "__main__":
    PATCHES[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))

"""What a store says of a disk that fails while it is opened, and that it is whole afterwards."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from runtime.protocol.errors import CommitUnknown, StoreError, StoreFull
from runtime.store.sqlite import Raw
from runtime.store.store import Store


def failing(monkeypatch: pytest.MonkeyPatch, at: str, code: int = sqlite3.SQLITE_IOERR) -> None:
    """Have the disk fail at one statement."""

    def execute(self: Raw, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == at:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = code
            raise error
        return sqlite3.Connection.execute(self, sql, *values)

    monkeypatch.setattr(Raw, "execute", execute)


@pytest.mark.parametrize("statement", ["pragma user_version", "select store_id, clock from keepstep_control"])
async def test_a_disk_that_fails_while_a_store_is_opened_is_the_stores_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    failing(monkeypatch, statement)
    with pytest.raises(StoreError, match="disk I/O error") as caught:
        await Store.open(tmp_path / "store.db", clock="logical")
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    monkeypatch.undo()
    async with await Store.open(tmp_path / "store.db", clock="logical") as store:
        assert (await store.snapshot()).version == 0


async def test_a_migration_whose_commit_fails_has_an_unknown_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "commit")
    with pytest.raises(CommitUnknown, match=r"store\.db: COMMIT failed"):
        await Store.open(tmp_path / "store.db", clock="logical")
    monkeypatch.undo()
    async with await Store.open(tmp_path / "store.db", clock="logical") as store:
        assert (await store.snapshot()).version == 0


async def test_a_migration_whose_commit_finds_the_disk_full_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "commit", sqlite3.SQLITE_FULL)
    with pytest.raises(StoreFull, match=r"store\.db: its schema could not be brought up to date.*nothing was written"):
        await Store.open(tmp_path / "store.db", clock="logical")

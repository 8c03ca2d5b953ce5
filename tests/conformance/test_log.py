"""The write-ahead file is laid out once more than a little was written; what is committed is not touched by it."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.protocol.manifest import Manifest, Step
from runtime.store.log import LITTLE_BYTES, ORDINARY_BYTES, SPARE_BYTES, Log
from runtime.store.sqlite import Files
from runtime.store.store import Store
from runtime.store.turnstile import Turnstile

NOTE = Manifest("note", "note/1", (Step("note", "note"),))
MUCH = 40


class Plain:
    """A log of a plain database with one row; `other` is another program's connection."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "app.db"
        self.raw, self.other = self._connect(), self._connect()
        self.raw.execute("create table row (body text)")
        self.files = Files.check(self.path, create=False)
        self.turnstile = Turnstile(self.files.path)
        self.log = Log(self.files, self.turnstile, deadline_ms=1_000)

    def _connect(self) -> sqlite3.Connection:
        raw = sqlite3.connect(self.path, isolation_level=None)
        raw.execute("pragma journal_mode = wal")
        raw.execute("pragma wal_autocheckpoint = 0")
        return raw

    def write(self, characters: int) -> None:
        self.raw.execute("insert into row values (?)", ["x" * characters])

    def close(self) -> None:
        self.log.close()
        self.raw.close()
        self.other.close()
        self.turnstile.close()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Plain]:
    made = Plain(tmp_path)
    yield made
    made.close()


async def filled(store: Store, count: int) -> None:
    await store.register(NOTE)
    await store.switch(NOTE.digest, 0)
    for number in range(count):
        await store.admit("note", f"job-{number}", "x" * 3_000)


async def test_after_more_than_a_little_the_file_has_its_ordinary_size(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "app.db") as store:
        await filled(store, MUCH)
        assert (tmp_path / "app.db-wal").stat().st_size == ORDINARY_BYTES
        await filled(store, MUCH)
        assert (tmp_path / "app.db-wal").stat().st_size == ORDINARY_BYTES


async def test_after_a_little_it_is_as_long_as_what_was_written(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "app.db") as store:
        await filled(store, 3)
        assert (tmp_path / "app.db-wal").stat().st_size < LITTLE_BYTES


async def test_a_file_that_was_cut_is_laid_out_again(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "app.db") as store:
        await filled(store, MUCH)
        await store.checkpoint()
        assert (tmp_path / "app.db-wal").stat().st_size == 0
        for number in range(MUCH):
            await store.admit("note", f"later-{number}", "x" * 3_000)
        assert (tmp_path / "app.db-wal").stat().st_size == ORDINARY_BYTES


async def test_what_a_crash_leaves_of_it_is_recovered(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "app.db") as store:
        await filled(store, MUCH)
        for companion in ("", "-wal"):
            shutil.copy(tmp_path / f"app.db{companion}", tmp_path / f"left.db{companion}")
    assert (tmp_path / "left.db-wal").stat().st_size == ORDINARY_BYTES
    async with await Store.open(tmp_path / "left.db") as store:
        await filled(store, MUCH + 1)
        assert (await store.control()).unfinished == MUCH + 1


async def test_a_commit_asks_for_no_times_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def listening(real: Callable[..., object]) -> Callable[..., object]:
        def ask(*given: object, **more: object) -> object:
            asked.append(given)
            return real(*given, **more)

        return ask

    async with await Store.open(tmp_path / "app.db") as store:
        await filled(store, 1)
        for name in ("stat", "lstat", "fstat"):
            monkeypatch.setattr(os, name, listening(getattr(os, name)))
        await store.admit("note", "another", 1)
        monkeypatch.undo()
    assert asked == []


def test_a_short_file_is_laid_out_and_what_is_in_it_stays(plain: Plain) -> None:
    plain.write(LITTLE_BYTES)
    plain.log.look()
    assert plain.log.untidy
    plain.log.tidy(plain.raw)
    plain.log.look()
    assert not plain.log.untidy
    assert plain.files.wal_bytes() == ORDINARY_BYTES
    plain.write(10)
    assert plain.other.execute("select length(body) from row").fetchall() == [(LITTLE_BYTES,), (10,)]
    assert plain.files.wal_bytes() == ORDINARY_BYTES


def test_while_another_program_writes_nothing_is_laid_out(plain: Plain) -> None:
    plain.write(LITTLE_BYTES)
    size = plain.files.wal_bytes()
    plain.other.execute("begin immediate")
    plain.log.tidy(plain.raw)
    assert plain.files.wal_bytes() == size
    plain.other.execute("rollback")
    plain.log.tidy(plain.raw)
    assert plain.files.wal_bytes() == ORDINARY_BYTES


def test_where_the_disk_becomes_full_all_of_it_is_given_back_and_it_is_tried_once(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    pwrite = os.pwrite

    def fills(descriptor: int, data: bytes, offset: int) -> int:
        if written:
            raise OSError(errno.ENOSPC, "no room")
        written.append(pwrite(descriptor, data[:100_000], offset))
        return written[0]

    plain.write(LITTLE_BYTES)
    size = plain.files.wal_bytes()
    monkeypatch.setattr(os, "pwrite", fills)
    plain.log.tidy(plain.raw)
    monkeypatch.undo()
    plain.log.look()
    assert written == [100_000]
    assert not plain.log.untidy
    assert plain.files.wal_bytes() == size
    assert not plain.raw.in_transaction
    plain.write(10)
    assert plain.other.execute("select count(*) from row").fetchone() == (2,)


def test_where_the_disk_has_little_room_nothing_is_taken_of_it(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    class Disk:
        f_frsize = 4096
        f_bavail = SPARE_BYTES // 4096 - 1

    plain.write(LITTLE_BYTES)
    size = plain.files.wal_bytes()
    monkeypatch.setattr(os, "fstatvfs", lambda descriptor: Disk)
    plain.log.tidy(plain.raw)
    plain.log.look()
    assert not plain.log.untidy
    assert plain.files.wal_bytes() == size


def test_of_two_that_saw_it_short_the_second_does_nothing(plain: Plain) -> None:
    second = Log(plain.files, plain.turnstile, deadline_ms=1_000)
    plain.write(LITTLE_BYTES)
    plain.log.look()
    second.look()
    plain.log.tidy(plain.raw)
    second.tidy(plain.other)
    second.close()
    assert plain.files.wal_bytes() == ORDINARY_BYTES
    assert plain.turnstile.checkpoint_noted() == b""


def test_a_file_that_is_cut_before_the_lock_is_had_is_not_laid_out(plain: Plain) -> None:
    class Late:
        def execute(self, sql: str) -> sqlite3.Cursor:
            if sql == "begin immediate":
                plain.other.execute("pragma wal_checkpoint(truncate)").fetchall()
            return plain.raw.execute(sql)

    plain.write(LITTLE_BYTES)
    late: Any = Late()
    plain.log.tidy(late)
    assert plain.files.wal_bytes() == 0


def test_where_no_descriptor_can_be_had_its_status_tells_its_size(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*given: object) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    plain.write(LITTLE_BYTES)
    monkeypatch.setattr(os, "open", none)
    plain.log.look()
    assert plain.log.untidy
    plain.log.tidy(plain.raw)
    plain.log.look()
    assert not plain.log.untidy
    monkeypatch.undo()
    assert plain.files.wal_bytes() < ORDINARY_BYTES


def test_a_pipe_in_its_place_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "app.db").touch(0o600)
    files = Files.check(tmp_path / "app.db", create=False)
    os.mkfifo(files.wal)
    assert files.wal_bytes() == 0

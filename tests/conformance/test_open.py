"""Opening: what is refused is left untouched, what exists is never reset (contract §13)."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World
from runtime.protocol.errors import ForeignFile, NewerSchema, StoreClosed, StoreError, UnsafePath
from runtime.store.store import Store


async def made(path: Path) -> Path:
    """A store's file."""
    async with await Store.open(path, clock="logical"):
        return path


def linked(path: Path) -> Path:
    os.link(path, path.with_name("second.db"))
    return path


def symbolic(path: Path) -> Path:
    other = path.with_name("link.db")
    other.symlink_to(path)
    return other


def open_to(mode: int) -> Callable[[Path], Path]:
    def changed(path: Path) -> Path:
        path.chmod(mode)
        return path

    return changed


def in_an_open_folder(path: Path) -> Path:
    path.parent.chmod(0o777)
    return path


def a_folder(path: Path) -> Path:
    return path.parent


def a_pipe(path: Path) -> Path:
    other = path.with_name("pipe")
    os.mkfifo(other)
    return other


def nowhere(path: Path) -> Path:
    return path.parent / "missing" / "a.db"


UNSAFE = {
    "two links": linked,
    "a symlink": symbolic,
    "writable by a group": open_to(0o620),
    "writable by others": open_to(0o602),
    "in a folder that others write to": in_an_open_folder,
    "a folder": a_folder,
    "a pipe": a_pipe,
    "in no folder": nowhere,
}


@pytest.mark.parametrize("kind", UNSAFE)
async def test_an_unsafe_path_is_refused_with_its_reason_and_left_untouched(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    file = await made(folder / "a.db")
    path = UNSAFE[kind](file)
    before = file.read_bytes()
    with pytest.raises(UnsafePath, match=f"{path.name}|{folder}"):
        await Store.open(path)
    assert file.read_bytes() == before


def place(kind: str, beside: Path, other: Path) -> None:
    """Put something unsafe where a file beside the database belongs."""
    beside.unlink(missing_ok=True)
    other.touch(0o600)
    if kind == "a symlink":
        beside.symlink_to(other)
    elif kind == "more than one link":
        beside.hardlink_to(other)
    elif kind == "writable":
        beside.touch()
        beside.chmod(0o622)
    else:
        beside.mkdir(0o700)


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal", "-queue", "-turn"])
@pytest.mark.parametrize("kind", ["a symlink", "more than one link", "writable", "not a regular file"])
async def test_what_lies_beside_the_database_is_held_to_the_same(tmp_path: Path, suffix: str, kind: str) -> None:
    path, other = await made(tmp_path / "a.db"), tmp_path / "other"
    place(kind, Path(f"{path}{suffix}"), other)
    with pytest.raises(UnsafePath, match=rf"a\.db{suffix}: .*{kind}"):
        await Store.open(path)
    assert other.read_bytes() == b""


async def test_a_sticky_folder_is_safe_and_a_new_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    before = os.umask(0)
    try:
        await made(folder / "a.db")
    finally:
        os.umask(before)
    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in folder.iterdir()}
    assert modes == dict.fromkeys(("a.db", "a.db-queue", "a.db-turn"), 0o600)


async def test_a_missing_file_is_refused_unless_it_may_be_created(tmp_path: Path) -> None:
    with pytest.raises(UnsafePath, match="db init"):
        await Store.open(tmp_path / "a.db", create=False)
    assert os.listdir(tmp_path) == []


async def test_a_file_that_is_no_database_or_anothers_is_left_untouched(tmp_path: Path) -> None:
    text, other, marked = tmp_path / "text", tmp_path / "other.db", tmp_path / "marked.db"
    text.write_bytes(b"no database, but long enough to look like one" * 40)
    text.chmod(0o600)
    for path, sql in ((other, "create table theirs (x)"), (marked, "pragma application_id = 7")):
        with closing(sqlite3.connect(path)) as raw:
            raw.execute(sql)
        path.chmod(0o600)
    for path in (text, other, marked):
        before = path.read_bytes()
        with pytest.raises(ForeignFile, match=path.name):
            await Store.open(path)
        assert path.read_bytes() == before


async def test_a_file_of_a_newer_schema_is_refused_and_left_untouched(tmp_path: Path) -> None:
    path = await made(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("pragma user_version = 1000")
    before = path.read_bytes()
    with pytest.raises(NewerSchema, match="1000"):
        await Store.open(path)
    assert path.read_bytes() == before


async def test_clock_and_store_id_count_only_at_creation(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db", clock="logical", store_id="first"):
        pass
    async with await Store.open(tmp_path / "a.db", clock="wall", store_id="second") as again:
        assert (again.clock, again.store_id) == ("logical", "first")


async def test_an_unknown_clock_or_durability_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises((StoreError, ValueError), match="sundial"):
        await Store.open(tmp_path / "a.db", clock="sundial")
    with pytest.raises((StoreError, ValueError), match="hope"):
        await Store.open(tmp_path / "a.db", durability="hope")
    assert os.listdir(tmp_path) == []


async def test_the_pragmas_of_a_store_are_what_is_promised(here: World) -> None:
    names = ("journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint")
    found = await here.store._writer._connection.run(
        lambda raw: [raw.execute(f"pragma {name}").fetchone()[0] for name in names]
    )
    assert found == ["wal", 2, 1, 0]
    listed = "select name, strict from pragma_table_list where schema = 'main' and type = 'table'"
    tables = await here.store._writer._connection.run(lambda raw: raw.execute(listed).fetchall())
    assert [name for name, strict in tables if name.startswith("keepstep_") and not strict] == []


async def test_a_closed_store_says_so_for_writes_and_reads(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "a.db", clock="logical")
    await store.close()
    await store.close()
    with pytest.raises(StoreClosed):
        await store.register(RELAY)
    with pytest.raises(StoreClosed):
        await store.snapshot()
    with pytest.raises(StoreClosed):
        await store.claim(1, W1)


async def test_a_store_that_is_closed_leaves_nothing_in_the_write_ahead_file(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db", clock="logical") as store:
        await store.register(RELAY)
    wal = tmp_path / "a.db-wal"
    assert not wal.exists() or wal.stat().st_size == 0

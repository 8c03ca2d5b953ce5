"""Platform: file systems and event loops that lack something."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import counted, prepared
from tests.cases.notes import until
from tests.cases.pool import command, pool

WITHIN_S = 5.0
UNAVAILABLE = 69


def unwritable(folder: Path) -> Path:
    """A path in a directory in which nobody can make a file, root neither."""
    if os.geteuid() == 0:
        return Path("/proc/app.db")
    (folder / "locked").mkdir(mode=0o500)
    return folder / "locked" / "app.db"


def a_directory(folder: Path) -> Path:
    """A path that is a directory."""
    (folder / "app.db").mkdir()
    return folder / "app.db"


def sound(folder: Path) -> Path:
    """A path with nothing wrong about it."""
    return folder / "app.db"


def below(folder: Path) -> list[Path]:
    """What stands in a folder."""
    return sorted(folder.rglob("*"))


PATHS: list[tuple[Callable[[Path], Path], tuple[str, ...], str]] = [
    (sound, ("tests.cases.patched", "no_wal"), "write-ahead logging cannot be set"),
    (unwritable, ("runtime",), "cannot be created"),
    (a_directory, ("runtime",), "is not a regular file"),
]


@pytest.mark.parametrize(("place", "program", "reason"), PATHS)
async def test_c54_a_place_that_cannot_hold_the_store_is_named_in_one_line(
    tmp_path: Path, place: Callable[[Path], Path], program: tuple[str, ...], reason: str
) -> None:
    path = place(tmp_path)
    before = below(tmp_path)
    lines = [("work", "tests.cases.apps:app"), ("admit", "quick", "J", "--payload", "1"), ("db", "init")]
    for line in lines:
        begun = time.monotonic()
        ended = await command(path, *line, program=program)
        assert time.monotonic() - begun < 2 * WITHIN_S
        assert ended.returncode == UNAVAILABLE, ended.stderr.decode()
        (said,) = ended.stderr.decode().splitlines()
        assert str(path) in said
        assert reason in said
        assert ended.stdout == b""
        assert below(tmp_path) == before


async def test_c55_a_pool_does_without_the_loops_signal_handlers(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    async with pool(db, program=("tests.cases.patched", "no_loop_signals")) as running:
        await running.ready()
        await store.admit("quick", "J", 1)
        await until(counted(store, "done", 1))
        running.send(signal.SIGINT)
        assert await running.wait() == 0
        assert len([line for line in running.log.splitlines() if " warning " in line]) <= 1
        assert "Traceback" not in running.log

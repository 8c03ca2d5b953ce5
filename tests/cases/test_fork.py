"""Fork: an open store is of no use in a child, and does no harm there."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import anyio

from runtime.store.store import Store
from tests.cases.looking import count
from tests.cases.pool import surroundings

CYCLES = 200


async def test_c52_an_open_store_refuses_in_a_forked_child_and_the_file_stays_sound(db: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.cases.forks", str(db), str(CYCLES)]
    ended = await anyio.run_process(command, env=surroundings(db), check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    assert json.loads(ended.stdout) == {"0": CYCLES}
    assert ended.stderr == b""
    with closing(sqlite3.connect(db)) as raw:
        assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
    async with await Store.open(db) as store:
        assert await count(store) == 2 * CYCLES
        assert await store.job("never") is None

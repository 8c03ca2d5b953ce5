"""The receiver killed at each of its points, and a first opening killed while it makes the schema."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from demos.scenarios import gate
from demos.scenarios.crash_relay import FIRST, ready
from demos.scenarios.stage import tables
from runtime.store import points, statements
from runtime.store.inbox import Inbox
from runtime.store.store import Store
from tests.crash.invariants import check, check_inbox
from tests.crash.test_every_point import at_most

EVERY_NTH = 8


async def received(folder: Path) -> Any:
    """The receiver's whole file, read on a fresh connection."""
    assert check_inbox(folder / "receiver.db") == []
    async with await Inbox.open(folder / "receiver.db") as inbox:
        return await inbox.dump()


async def test_receive_killed_at_each_of_its_points_leaves_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []
    rehearsal = await ready(tmp_path / "rehearsal")
    before = await received(tmp_path / "rehearsal")
    with monkeypatch.context() as patch:
        patch.setattr(points, "reach", reached.append)
        async with await rehearsal.inbox() as inbox:
            await inbox.receive("a1", "a", 1, {"delta": 10})
    after = await received(tmp_path / "rehearsal")
    assert {name for name in points.names() if name.startswith("receive.")} <= set(reached)

    async def killed(point: str) -> None:
        folder = tmp_path / point
        stage = await ready(folder)
        await stage.crash(point, "relay", inbox=str(stage.receiver), worker=FIRST, now=0)
        assert stage.seen["exit"] == 73, f"{point} was not reached in a child"
        committed = point == "receive.after_commit"
        assert await received(folder) == (after if committed else before), point
        async with await stage.inbox() as inbox:
            again = await inbox.receive("a1", "a", 1, {"delta": 10})
        assert again.verdict == ("duplicate" if committed else "accepted")
        assert await received(folder) == after
        assert check(stage.path) == []

    await at_most(2, [partial(killed, point) for point in dict.fromkeys(reached)])


async def test_a_first_opening_killed_anywhere_leaves_no_half_made_schema(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "whole.db", clock="logical", store_id="store") as store:
        whole = tables(await store.dump())
    parts = [f"upgrade.{part}" for _, _, migration in statements.numbered("migrations") for part in migration]

    async def killed(point: str) -> None:
        path = tmp_path / f"{point}.db"
        path.touch(0o600)
        assert await gate.crash(path, point, "sweep") == 73, f"{point} was not reached in a child"
        with closing(sqlite3.connect(path)) as raw:
            (count,) = raw.execute("select count(*) from sqlite_schema").fetchone()
            assert (count == 0) == (point != "upgrade.after_commit"), point
        async with await Store.open(path, clock="logical", store_id="store") as store:
            found = tables(await store.dump())
        if count == 0:
            assert found == whole
        assert check(path) == []

    chosen = [*parts[::EVERY_NTH], parts[-1], "upgrade.before_commit", "upgrade.after_commit"]
    await at_most(2, [partial(killed, point) for point in dict.fromkeys(chosen)])

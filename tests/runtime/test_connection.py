"""The driver's thread runs whole units, awaited or handed over: this watches what of aiosqlite is used for that."""

from pathlib import Path

import anyio
import pytest
from anyio import from_thread

from runtime.store.sqlite import Files, open_writer


async def test_units_run_in_the_order_given_whether_awaited_or_handed_over(tmp_path: Path) -> None:
    files = Files.check(tmp_path / "app.db", create=True)
    connection = await open_writer(files, durability="full", deadline_ms=1_000)
    seen: list[str] = []
    connection.hand_over(lambda raw: seen.append("first"))
    await connection.run(lambda raw: seen.append("second"))
    connection.hand_over(lambda raw: seen.append("third"))
    await connection.close()
    assert seen == ["first", "second", "third"]


async def test_a_unit_that_is_handed_over_is_not_waited_for(tmp_path: Path) -> None:
    files = Files.check(tmp_path / "app.db", create=True)
    connection = await open_writer(files, durability="full", deadline_ms=1_000)
    ended = anyio.Event()
    token = anyio.lowlevel.current_token()
    connection.hand_over(lambda raw: from_thread.run_sync(ended.set, token=token))
    assert not ended.is_set()
    with anyio.fail_after(10):
        await ended.wait()
    await connection.close()


async def test_a_closed_connection_takes_no_unit(tmp_path: Path) -> None:
    files = Files.check(tmp_path / "app.db", create=True)
    connection = await open_writer(files, durability="full", deadline_ms=1_000)
    await connection.close()
    with pytest.raises(ValueError, match="no active connection"):
        connection.hand_over(lambda raw: None)

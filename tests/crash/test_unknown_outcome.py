"""An error out of COMMIT itself: whether it happened is unknown until the file is opened anew and asked by identity."""

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest

from demos.scenarios.cases import UNITS, V1
from runtime.protocol.errors import CommitUnknown, KeepstepError, StoreFull
from runtime.store.inbox import Inbox
from runtime.store.sqlite import Raw
from runtime.store.store import Store
from tests.crash.invariants import check
from workers.inbox import InboxAt


def failing(monkeypatch: pytest.MonkeyPatch, code: int, *, happened: bool, times: int = 1_000) -> None:
    """Have COMMIT fail with this code, so many times, after or instead of being done."""
    left = [times]

    def execute(self: Raw, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "commit" and left[0] > 0:
            left[0] -= 1
            if happened:
                sqlite3.Connection.execute(self, sql)
            error = sqlite3.OperationalError("the disk failed")
            error.sqlite_errorcode = code
            raise error
        return sqlite3.Connection.execute(self, sql, *values)

    monkeypatch.setattr(Raw, "execute", execute)


async def ready(path: Path) -> Store:
    """A store that takes jobs of one workflow."""
    store = await Store.open(path, clock="logical")
    await store.register(V1)
    await store.switch(V1.digest, 0)
    return store


@pytest.mark.parametrize(("happened", "told"), [(True, "replay"), (False, "accepted")])
async def test_an_error_out_of_commit_is_an_unknown_outcome_and_identity_tells_after_reopening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happened: bool, told: str
) -> None:
    store = await ready(tmp_path / "store.db")
    failing(monkeypatch, sqlite3.SQLITE_IOERR, happened=happened)
    with pytest.raises(CommitUnknown, match="unknown"):
        await store.admit("points", "job", UNITS)
    monkeypatch.undo()
    with pytest.raises(CommitUnknown, match="no longer serves"):
        await store.admit("points", "another", UNITS)
    assert isinstance(store.failed, CommitUnknown)
    await store.close()
    async with await Store.open(tmp_path / "store.db", clock="logical") as store:
        assert (await store.admit("points", "job", UNITS)).verdict == told
        assert await store.job("another") is None
    assert check(tmp_path / "store.db") == []


async def test_after_an_unknown_outcome_nothing_more_of_its_group_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await Store.open(tmp_path / "store.db", clock="logical")
    await store.register(V1)
    await store.switch(V1.digest, 0, now=5)
    failing(monkeypatch, sqlite3.SQLITE_IOERR, happened=False, times=1)
    found: dict[str, str] = {}

    async def admit(name: str, now: int) -> None:
        try:
            found[name] = str((await store.admit("points", name, UNITS, now=now)).verdict)
        except KeepstepError as error:
            found[name] = type(error).__name__

    # the second one's earlier tick has the group run again one by one
    async with anyio.create_task_group() as group:
        for name, now in (("a", 5), ("b", 4), ("c", 5)):
            group.start_soon(admit, name, now)
    assert found == dict.fromkeys("abc", "CommitUnknown")
    monkeypatch.undo()
    await store.close()
    async with await Store.open(tmp_path / "store.db", clock="logical") as store:
        assert await store.jobs() == []


async def test_a_disk_that_is_full_at_commit_is_no_unknown_outcome_and_the_store_is_served_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await ready(tmp_path / "store.db") as store:
        failing(monkeypatch, sqlite3.SQLITE_FULL, happened=False)
        with pytest.raises(StoreFull, match="nothing was written"):
            await store.admit("points", "job", UNITS)
        monkeypatch.undo()
        assert (await store.admit("points", "job", UNITS)).verdict == "accepted"
    assert check(tmp_path / "store.db") == []


async def test_a_receivers_disk_that_is_full_at_commit_is_no_unknown_outcome_and_it_receives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await Inbox.open(tmp_path / "receiver.db") as inbox:
        failing(monkeypatch, sqlite3.SQLITE_FULL, happened=False)
        with pytest.raises(StoreFull, match="nothing was written"):
            await inbox.receive("a1", "a", 1, {"delta": 10})
        monkeypatch.undo()
        assert (await inbox.receive("a1", "a", 1, {"delta": 10})).verdict == "accepted"
        assert await inbox.totals() == {"a": 10}


@pytest.mark.parametrize(("happened", "told"), [(True, "duplicate"), (False, "accepted")])
async def test_an_error_out_of_a_receivers_commit_closes_it_and_identity_tells_after_reopening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happened: bool, told: str
) -> None:
    inbox = await Inbox.open(tmp_path / "receiver.db")
    failing(monkeypatch, sqlite3.SQLITE_IOERR, happened=happened)
    with pytest.raises(CommitUnknown, match="unknown"):
        await inbox.receive("a1", "a", 1, {"delta": 10})
    monkeypatch.undo()
    with pytest.raises(CommitUnknown):
        await inbox.receive("a2", "a", 2, {"delta": 10})
    await inbox.close()
    async with await Inbox.open(tmp_path / "receiver.db") as inbox:
        assert (await inbox.receive("a1", "a", 1, {"delta": 10})).verdict == told
        assert await inbox.totals() == {"a": 10}


@pytest.mark.parametrize(("happened", "told"), [(True, "duplicate"), (False, "accepted")])
async def test_a_relays_receiver_is_opened_anew_after_an_unknown_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happened: bool, told: str
) -> None:
    receiver = InboxAt(tmp_path / "receiver.db")
    assert (await receiver.receive("a1", "a", 1, {"delta": 10})).verdict == "accepted"
    failing(monkeypatch, sqlite3.SQLITE_IOERR, happened=happened)
    with pytest.raises(CommitUnknown, match="unknown"):
        await receiver.receive("a2", "a", 2, {"delta": 5})
    monkeypatch.undo()
    assert (await receiver.receive("a2", "a", 2, {"delta": 5})).verdict == told
    await receiver.close()
    async with await Inbox.open(tmp_path / "receiver.db") as inbox:
        assert await inbox.totals() == {"a": 15}

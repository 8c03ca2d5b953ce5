"""Exceptions kill the pool: what a handler raises ends its attempt, what the store raises ends the pool at last."""

import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime.protocol.errors import StoreError
from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.cases import apps, odd
from tests.cases.looking import counted, fields, in_state, prepared
from tests.cases.notes import notes, until
from tests.cases.pool import inside, pool

ODD = "tests.cases.odd:app"
OUTSIDE = ("Other", "KeyboardInterrupt", "SystemExit", "GeneratorExit")
POLL_S = 0.02


async def test_c58_what_stands_outside_of_exception_fails_its_attempt_only(store: Store, db: Path) -> None:
    await prepared(odd.app, store)
    await store.admit_many([Admission("raises", name, {"raise": name}, name) for name in OUTSIDE])
    async with pool(db, app=ODD) as running:
        await running.ready()
        await until(counted(store, "quarantined", len(OUTSIDE)))
        for name in OUTSIDE:
            attempts, reason = await fields(store, name, "attempts", "reason")
            assert attempts == 2
            assert name in reason
            assert [entry["attempt"] for entry in notes(db.parent, "begin", name)] == [1, 2]
        await store.admit("quick", "another", 1)
        await until(in_state(store, "another", "done"))
        assert {entry["pid"] for entry in notes(db.parent, "begin")} == {running.pid}
        assert running.process.returncode is None
        running.send(signal.SIGTERM)
        assert await running.wait() == 0


async def test_c59_a_store_that_fails_once_is_asked_again(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepared(odd.app, store)
    monkeypatch.setenv("CASES_FOLDER", str(db.parent))
    settle, failures = Store.settle, 0

    async def fails_once(self: Store, **items: Any) -> Any:
        nonlocal failures
        failures += 1
        if failures == 1:
            raise StoreError("a short hiccup")
        return await settle(self, **items)

    async with inside(odd.app, db):
        monkeypatch.setattr(Store, "settle", fails_once)
        await store.admit("quick", "J", 1)
        await until(lambda: failures >= 1)
        failed_at = anyio.current_time()
        await until(in_state(store, "J", "done"))
        # it is tried again at most once a second
        assert anyio.current_time() - failed_at < 1 + 20 * POLL_S


async def test_c59_a_store_that_fails_for_ever_ends_the_process(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    await store.admit("quick", "J", 1)
    async with pool(db, program=("tests.cases.patched", "store_fails")) as running:
        assert await running.wait(within_s=10) == 69
        assert "failed 10 times in a row, giving up" in running.log
        assert running.log.splitlines()[-1] == "error: the disk has gone away"

"""Disk full: one line when it begins, one when it ends, nothing lost, and the first error is the one that is told."""

import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime.protocol.errors import CommitUnknown, StoreError, StoreFull
from runtime.protocol.records import Admission, Claim, Worker
from runtime.store import sqlite
from runtime.store.sqlite import Connection, Files, Raw
from runtime.store.store import Store
from runtime.store.transaction import SQL
from tests.cases.looking import count, counted, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context, step

FULL_FOR_S = 3.0
MOST_TRIES = 5  # twelve in ten seconds
UNLIMITED = 1_000_000
TABLES = {"admit": "keepstep_job", "claim": "keepstep_job", "commit_step": "keepstep_effect"}
EVENTS = {"admit": "insert", "claim": "update", "commit_step": "insert"}


class Pages:
    """Every writing connection that is opened in a case, and one limit for the size of their file."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.full = False

    async def open(self, files: Files, **options: Any) -> Connection:
        """What opens a writing connection, and keeps it in mind."""
        connection = await sqlite.open_writer(files, **options)
        self.connections.append(connection)
        await self._set(connection)
        return connection

    async def limit(self, full: bool) -> None:
        """From now on the file is as large as it may be, or it may grow again."""
        self.full = full
        for connection in self.connections:
            with suppress(ValueError):  # closed meanwhile
                await self._set(connection)

    async def _set(self, connection: Connection) -> None:
        def unit(raw: sqlite3.Connection) -> None:
            (present,) = raw.execute("pragma page_count").fetchone()
            raw.execute(f"pragma max_page_count = {present if self.full and present else UNLIMITED}")

        await connection.run(unit)


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Pages:
    """The limit of a case's file."""
    made = Pages()
    monkeypatch.setattr("runtime.store.store.open_writer", made.open)
    return made


def fatten(db: Path, verb: str) -> None:
    """Make what a verb writes take more room, so that a full file is met there."""
    with closing(sqlite3.connect(db, isolation_level=None)) as raw:
        raw.execute("pragma wal_autocheckpoint = 0")
        raw.execute("create table if not exists fat (body blob)")
        raw.execute(
            f"create trigger fatten after {EVENTS[verb]} on {TABLES[verb]} "
            "begin insert into fat values (zeroblob(50000)); end"
        )


def simple() -> App:
    """An app whose jobs end at once."""
    app = App("simple", abi="cases/1")

    @app.step
    async def ends(ctx: Context) -> str:
        return "well"

    app.manifest([step("only", ends, lease="1s", base=0, ceiling=0)])
    return app


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said louder than in passing."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def test_c50_a_full_disk_is_met_once_a_second_and_said_once(
    db: Path, pages: Pages, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app, tries = simple(), 0
    settle = Store.settle

    async def counting(self: Store, **items: Any) -> Any:
        nonlocal tries
        tries += 1
        return await settle(self, **items)

    async with await Store.open(db) as store:
        await prepared(app, store)
        await store.admit_many([Admission("simple", f"job-{n}", 1, f"flow-{n}") for n in range(10)])
        fatten(db, "claim")
        await pages.limit(True)
        monkeypatch.setattr(Store, "settle", counting)
        with caplog.at_level(logging.INFO, "keepstep"):
            async with inside(app, db) as running:
                await anyio.sleep(FULL_FOR_S)
                assert 2 <= tries <= MOST_TRIES
                assert not running.ended.is_set()
                with pytest.raises(StoreFull, match="full"):
                    await store.admit("simple", "meanwhile", "x" * 100_000)
                said = warnings(caplog)
                assert len(said) == 1
                assert "StoreFull" in said[0]
                await pages.limit(False)
                await until(counted(store, "done", 10))
        assert warnings(caplog) == said
        assert len([record for record in caplog.records if "works again" in record.getMessage()]) == 1
        assert await store.job("meanwhile") is None
        assert (await store.admit("simple", "meanwhile", "x" * 100_000)).verdict == "accepted"


Call = Callable[[Store, Worker, list[Claim]], Awaitable[Any]]
CALLS: dict[str, Call] = {
    "admit": lambda store, worker, claims: store.admit("simple", "fresh", "x" * 100_000, flow="fresh"),
    "claim": lambda store, worker, claims: store.claim(1, worker),
    "commit_step": lambda store, worker, claims: store.commit_step(claims[0].token, "x" * 100_000, worker=worker),
}
STATEMENTS = {"admit": "admit.payloads", "claim": "claim.jobs", "commit_step": "commit_step.effects"}


async def begun(store: Store, app: App) -> tuple[Worker, list[Claim]]:
    """A store with a job in flight and one that is ready."""
    await prepared(app, store)
    await store.admit_many([Admission("simple", f"job-{n}", 1, f"flow-{n}") for n in range(2)])
    worker = Worker.declaring("w", *app.manifests)
    return worker, list((await store.claim(1, worker)).claims)


async def goes_on(store: Store, app: App, db: Path) -> None:
    """No row is left in a state that blocks a flow: a pool finishes everything."""
    await store.admit_many([Admission("simple", f"behind-{n}", 1, f"flow-{n}") for n in range(2)])
    async with inside(app, db):
        await until(counted(store, "done", await count(store)))


@pytest.mark.parametrize("verb", CALLS)
async def test_c51_a_full_disk_is_told_as_such_and_leaves_nothing_half_done(db: Path, pages: Pages, verb: str) -> None:
    app = simple()
    async with await Store.open(db) as store:
        worker, claims = await begun(store, app)
        fatten(db, verb)
        before = await store.dump()
        await pages.limit(True)
        with pytest.raises(StoreFull, match="full") as caught:
            await CALLS[verb](store, worker, claims)
        assert "no transaction" not in str(caught.value)
        assert isinstance(caught.value.__cause__, sqlite3.Error)
        assert caught.value.__cause__.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL
        assert await store.dump() == before
        await pages.limit(False)
        await goes_on(store, app, db)


class Fault:
    """A disk that fails at one statement, after which the engine has rolled back by itself, or cannot."""

    def __init__(self, verb: str, *, rolled_back: bool) -> None:
        self.armed = False
        self.sql = SQL[STATEMENTS[verb]]
        self.rolled_back = rolled_back

    def meet(self, raw: sqlite3.Connection, sql: str) -> None:
        """Called before each statement."""
        if not self.armed:
            return
        if sql == self.sql:
            if self.rolled_back:
                sqlite3.Connection.execute(raw, "rollback")
            raise self.error("disk I/O error")
        if sql == "rollback" and not self.rolled_back:
            raise self.error("the disk is gone while rolling back")

    @staticmethod
    def error(text: str) -> sqlite3.OperationalError:
        """The engine's error."""
        error = sqlite3.OperationalError(text)
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        return error


def plant(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Have every connection meet the fault."""

    def execute(self: Raw, sql: str, *values: Any) -> sqlite3.Cursor:
        fault.meet(self, sql)
        return sqlite3.Connection.execute(self, sql, *values)

    def executemany(self: Raw, sql: str, rows: Any) -> sqlite3.Cursor:
        fault.meet(self, sql)
        return sqlite3.Connection.executemany(self, sql, rows)

    monkeypatch.setattr(Raw, "execute", execute)
    monkeypatch.setattr(Raw, "executemany", executemany)


@pytest.mark.parametrize("verb", CALLS)
async def test_c51_an_io_error_is_told_and_not_the_rollback_that_follows(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    app, fault = simple(), Fault(verb, rolled_back=True)
    worker, claims = await begun(store, app)
    before = await store.dump()
    plant(monkeypatch, fault)
    fault.armed = True
    with pytest.raises(StoreError, match="disk I/O error") as caught:
        await CALLS[verb](store, worker, claims)
    fault.armed = False
    assert not isinstance(caught.value, CommitUnknown)
    assert "no transaction" not in str(caught.value)
    assert await store.dump() == before
    await goes_on(store, app, db)


@pytest.mark.parametrize("verb", CALLS)
async def test_c51_where_even_the_rollback_fails_the_first_error_is_named(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    app, fault = simple(), Fault(verb, rolled_back=False)
    worker, claims = await begun(store, app)
    plant(monkeypatch, fault)
    fault.armed = True
    with pytest.raises(CommitUnknown, match="disk I/O error"):
        await CALLS[verb](store, worker, claims)
    fault.armed = False
    assert isinstance(store.failed, CommitUnknown)  # the connection is of no use any more: open the file anew
    await store.close()
    async with await Store.open(db) as again:
        await goes_on(again, app, db)


@pytest.mark.parametrize("verb", ["claim", "commit_step"])
async def test_c51_a_pool_survives_and_logs_the_original_error(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    app, fault = simple(), Fault(verb, rolled_back=True)
    await prepared(app, store)
    plant(monkeypatch, fault)
    with caplog.at_level(logging.INFO, "keepstep"):
        async with inside(app, db) as running:
            fault.armed = True
            await store.admit("simple", "J", 1)
            await until(lambda: warnings(caplog))
            fault.armed = False
            failed_at = time.monotonic()
            await until(counted(store, "done", 1), within_s=4)
            assert time.monotonic() - failed_at < 3
            assert not running.ended.is_set()
    (said,) = warnings(caplog)
    assert "disk I/O error" in said
    assert "no transaction" not in caplog.text

"""A handler's own writes: they commit with the effect or not at all, and fail no neighbour (contract §6)."""

import sqlite3
from typing import Any

import pytest

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, words
from runtime.protocol.records import Admission, Commit, Token, Write
from runtime.store.sqlite import Raw

TABLES = """
create table ledger (job text primary key, points integer not null check (points >= 0)) strict;
create table late (job text references ledger (job) deferrable initially deferred) strict;
create trigger wild before insert on ledger when new.points = 13 begin select raise(rollback, 'thirteen'); end;
create virtual table words using fts5 (text, content = '');
"""
GOOD = Write("insert into ledger values (?, ?)", ("fine", 1))


async def three(here: World) -> list[Token]:
    """Three claims, in three flows; the app's tables are there."""
    await here.store.ensure_schema("ledger", TABLES)
    await here.define(RELAY)
    for name in ("a1", "b1", "c1"):
        await here.event(name)
    return [claim.token for claim in (await here.store.claim(3, W1)).claims]


async def rows(here: World) -> list[tuple[Any, ...]]:
    """What the ledger holds."""
    return await here.store.query("select job, points from ledger order by job")


BAD = {
    "a check fails": [Write("insert into ledger values ('x', -1)")],
    "the second fails": [Write("insert into ledger values ('x', 1)"), Write("insert into ledger values ('x', 2)")],
    "it rolls back by itself": [Write("insert or rollback into ledger values (null, 1)")],
    "a trigger rolls back": [Write("insert into ledger values ('x', 13)")],
    "no such table": [Write("insert into nowhere values (1)")],
    "no SQL": [Write("nonsense")],
    "two statements": [Write("insert into ledger values ('x', 1); insert into ledger values ('y', 1)")],
    "begin": [Write("begin")],
    "commit": [Write("commit")],
    "rollback": [Write("rollback")],
    "savepoint": [Write("savepoint x")],
    "attach": [Write("attach 'x.db' as x")],
    "vacuum": [Write("vacuum")],
    "a pragma": [Write("pragma synchronous = off")],
    "a table": [Write("create table more (x)")],
    "the engine's table": [Write("update keepstep_job set state = 5")],
    "the engine's table read": [Write("insert into ledger select key, 1 from keepstep_job")],
    "missing parameters": [Write("insert into ledger values (?, ?)", ("x",))],
    "a parameter of no type": [Write("insert into ledger values (?, ?)", ("x", object()))],
    "a virtual table": [Write("insert into words (words, rowid, text) values ('delete', 7, 'never there')")],
    "an integer too large": [Write("insert into ledger values (?, ?)", ("x", 2**64))],
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_write_that_fails_is_its_items_error_and_fails_no_neighbour(here: World, kind: str) -> None:
    first, second, third = await three(here)
    items = [Commit(first, 1, W1, [GOOD]), Commit(second, 1, W1, BAD[kind]), Commit(third, 1, W1)]
    assert words(await here.store.commit_step_many(items)) == ["done", "WriteFailed", "done"]
    assert await rows(here) == [("fine", 1)]
    assert await here.fields("b1", "state", "cursor") == ["inflight", 0]
    assert await here.effects("b1") == []
    assert len(await here.effects("a1")) == 1


@pytest.mark.parametrize("kind", BAD)
async def test_so_it_is_in_a_pools_turn(here: World, kind: str) -> None:
    first, second, third = await three(here)
    items = [Commit(first, 1, W1, BAD[kind]), Commit(second, 1, W1, [GOOD])]
    answers, _ = await here.store.settle(commits=items)
    assert words(answers["commit_step"]) == ["WriteFailed", "done"]
    assert await here.commit(third, W1) == "done"
    assert await rows(here) == [("fine", 1)]


async def test_the_writes_of_a_stale_or_expired_commit_are_not_done(here: World) -> None:
    first, second, third = await three(here)
    await here.commit(first, W1)
    value = here.store.commit_step(third, float("nan"), worker=W1, writes=[GOOD])
    assert "InvalidValue" in await here.error(value)
    for token, now in ((first, 0), (second, 6)):
        answer = await here.store.commit_step(token, 1, worker=W1, writes=[GOOD], now=now)
        assert answer.verdict in ("stale", "expired")
    assert await rows(here) == []


async def test_a_constraint_that_is_judged_at_commit_fails_its_own_item_only(here: World) -> None:
    first, second, third = await three(here)
    late = Write("insert into late values ('nobody')")
    items = [Commit(first, 1, W1, [GOOD]), Commit(second, 1, W1, [late]), Commit(third, 1, W1)]
    assert words(await here.store.commit_step_many(items)) == ["done", "WriteFailed", "done"]
    assert await rows(here) == [("fine", 1)]
    assert await here.store.query("select * from late") == []


async def test_a_lock_lost_between_items_is_the_answer_to_the_rest_and_not_to_what_is_committed(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = await three(here)
    late = Write("insert into late values ('nobody')")
    items = [Commit(first, 1, W1, [GOOD]), Commit(second, 1, W1, [late]), Commit(third, 1, W1)]
    begun = 0

    def execute(self: Raw, sql: str, *values: Any) -> sqlite3.Cursor:
        nonlocal begun
        if sql == "begin immediate":
            begun += 1
            # twice as a batch, then the first item by itself
            if begun == 4:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error
        return sqlite3.Connection.execute(self, sql, *values)

    monkeypatch.setattr(Raw, "execute", execute)
    answers: list[Any] = [*(await here.store.commit_step_many(items))]
    assert words(answers) == ["done", "StoreBusy", "StoreBusy"]
    assert words(await here.store.commit_step_many(items)) == ["stale", "WriteFailed", "done"]


async def test_rows_handed_over_with_admissions_fail_as_writes_too(here: World) -> None:
    await three(here)
    for bad in (["insert into late values ('nobody')"], ["insert into ledger values ('x', 13)"]):
        error = await here.error(here.store.write([(sql,) for sql in bad], admit=[Admission("relay", "d1", 1, "d")]))
        assert error.startswith("WriteFailed: ")
    assert await here.store.job("d1") is None
    assert await here.event("e1") == "accepted"


@pytest.mark.parametrize(
    "sql",
    [
        "delete from ledger",
        "insert into ledger values ('x', 1) returning job",
        "pragma query_only = off",
        "pragma user_version = 3",
        "attach 'other.db' as other",
        "begin",
        "commit",
        "create temp table more (x)",
        "update sqlite_master set name = 'other'",
        "select 1; select 2",
    ],
)
async def test_a_query_reads_and_does_nothing_else(here: World, sql: str) -> None:
    await three(here)
    assert (await here.error(here.store.query(sql))).startswith("WriteFailed: the query failed")
    assert await here.store.query("with n as (select count(*) c from ledger) select c from n") == [(0,)]

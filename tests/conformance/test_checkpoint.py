"""The write-ahead file is begun anew when it grows, by one of the processes that see it grow; nobody waits for it."""

import sqlite3
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from runtime.protocol.manifest import Manifest, Step
from runtime.store import log
from runtime.store.store import Store
from runtime.store.turnstile import Turnstile
from runtime.store.writer import Request, Writer

NOTE = Manifest("note", "note/1", (Step("note", "note"),))
WRITERS, ROUNDS = 3, 100


async def test_a_log_that_grows_is_checkpointed_by_one_of_its_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = [0] * WRITERS

    def watching(number: int, raw: sqlite3.Connection) -> None:
        def note(sql: str) -> None:
            counts[number] += "wal_checkpoint" in sql

        raw.set_trace_callback(note)

    monkeypatch.setattr(log, "ORDINARY_BYTES", 200_000)
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(await Store.open(tmp_path / "app.db")) for _ in range(WRITERS)]
        await stores[0].register(NOTE)
        await stores[0].switch(NOTE.digest, 0)
        for number, store in enumerate(stores):
            await store._writer._connection.run(partial(watching, number))
        for number in range(ROUNDS * WRITERS):
            await stores[number % WRITERS].admit("note", f"job-{number}", "x" * 3_000)
        size = (tmp_path / "app.db-wal").stat().st_size
    # ten are made where one does it for all, thirty where each does it for itself
    assert 5 <= sum(counts) <= 20
    assert size < 2_000_000


@pytest.mark.parametrize(("long", "order"), [(False, ["turn", "answer"]), (True, ["answer", "turn"])])
async def test_the_turn_is_given_back_before_the_answer_and_a_checkpoint_comes_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool, order: list[str]
) -> None:
    seen: list[str] = []
    leave, tell = Turnstile.leave, Writer._tell

    def given_back(turnstile: Turnstile) -> None:
        seen.append("turn")
        leave(turnstile)

    def told(writer: Writer, requests: list[Request]) -> None:
        seen.append("answer")
        tell(writer, requests)

    monkeypatch.setattr(log, "ORDINARY_BYTES", 0 if long else log.ORDINARY_BYTES)
    async with await Store.open(tmp_path / "app.db") as store:
        await store.register(NOTE)
        monkeypatch.setattr(Turnstile, "leave", given_back)
        monkeypatch.setattr(Writer, "_tell", told)
        await store.sweep()
        await store.checkpoint()
        monkeypatch.undo()
    assert seen[:2] == order

"""A store that is closed answers everybody, and gives back what it was about to give away (contract §2)."""

import asyncio
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from anyio.lowlevel import checkpoint

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, word
from runtime.protocol.errors import CommitUnknown, StoreClosed
from runtime.protocol.verdicts import State
from runtime.store import group, writer
from runtime.store.group import commit
from runtime.store.store import Store

PATIENCE_S = 20


async def test_claims_that_are_being_given_back_are_released_before_the_end(here: World) -> None:
    await here.define(RELAY)
    await here.store.admit("relay", "first", 1)
    claimer = asyncio.ensure_future(here.store.claim(1, W1))
    # in the same group as the claim: both are answered in one turn of the loop
    await here.store.admit("relay", "second", 1)
    claimer.cancel()
    await here.store._writer.close()
    await here.store.close()
    async with await Store.open(here.queue, create=False) as again:
        job = await again.job("first")
    assert job is not None
    assert (job.state, job.attempts) == (State.READY, 0)


async def test_a_closing_that_is_cancelled_again_and_again_leaves_no_caller_waiting(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await here.define(RELAY)
    writer = here.store._writer
    run, gate, begun = writer._groups.run, threading.Event(), threading.Event()

    def held(*unit: Any) -> None:
        begun.set()
        assert gate.wait(PATIENCE_S)
        run(*unit)

    monkeypatch.setattr(writer._groups, "run", held)
    first = asyncio.ensure_future(here.store.admit("relay", "first", 1))
    assert await to_thread.run_sync(begun.wait, PATIENCE_S)
    second = asyncio.ensure_future(here.store.admit("relay", "second", 1))
    closing = asyncio.ensure_future(here.store.close())
    for _ in range(2):
        for _ in range(5):
            await checkpoint()
        closing.cancel()
    for _ in range(5):
        await checkpoint()
    gate.set()
    # the loop is late: when it looks again, the thread has ended
    writer._connection._thread.join(PATIENCE_S)
    assert not writer._connection._thread.is_alive()
    closing.cancel()
    with anyio.fail_after(PATIENCE_S):
        assert word(await first) == "accepted"
        with pytest.raises(StoreClosed):
            await second


async def test_a_store_may_be_closed_by_several_at_once(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "app.db")
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as closing:
            for _ in range(3):
                closing.start_soon(store.close)


async def test_a_listener_that_fails_stops_nobody(here: World) -> None:
    def failing() -> None:
        raise RuntimeError("planted")

    await here.define(RELAY)
    heard: list[str] = []
    stop = here.store.subscribe(failing)
    here.store.subscribe(lambda: heard.append("commit"))
    with anyio.fail_after(PATIENCE_S):
        assert word(await here.store.admit("relay", "first", 1)) == "accepted"
        stop()
        assert word(await here.store.admit("relay", "second", 1)) == "accepted"
    assert heard == ["commit", "commit"]


async def test_an_unknown_outcome_is_told_to_all_who_wait_however_many(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(raw: sqlite3.Connection) -> None:
        raw.execute("rollback")
        raise CommitUnknown("planted")

    await here.define(RELAY)
    monkeypatch.setattr(writer, "LARGEST_GROUP", 1)
    monkeypatch.setattr(group, "commit", lost)
    with anyio.fail_after(PATIENCE_S):
        requests = [here.store._submit("sweep", [None], None) for _ in range(2_000)]
        answers = [(await request.outcome())[0] for request in requests]
    assert {type(answer) for answer in answers} == {CommitUnknown}


async def test_a_writer_that_is_cancelled_at_its_end_again_and_again_keeps_the_turns_file_until_its_unit_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, go = threading.Event(), threading.Event()

    def slow(raw: sqlite3.Connection) -> None:
        inside.set()
        go.wait(PATIENCE_S)
        commit(raw)

    store = await Store.open(tmp_path / "app.db", clock="logical")
    monkeypatch.setattr(group, "commit", slow)
    request = store._submit("sweep", [None], None)
    assert await anyio.to_thread.run_sync(inside.wait, PATIENCE_S)
    late = store._submit("sweep", [None], None)
    closing = asyncio.ensure_future(store._writer.close())
    for _ in range(3):
        await anyio.wait_all_tasks_blocked()
        closing.cancel()
    await anyio.wait_all_tasks_blocked()
    os.fstat(store._writer._groups._turnstile._turn)  # still open
    go.set()
    assert await request.answers() == [0]
    with pytest.raises(StoreClosed):
        await late.answers()
    await store.close()
    await anyio.to_thread.run_sync(store._writer._connection._thread.join, PATIENCE_S)

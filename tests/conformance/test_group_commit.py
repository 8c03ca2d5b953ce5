"""Group commit: callers joined into one transaction do not feel each other (contract §2)."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, word
from runtime.protocol.errors import ClockBackwards, InvalidValue, StoreBusy, StoreError
from runtime.protocol.records import Callback, Claim, ClaimRequest, Commit, Worker
from runtime.store import faults, group
from runtime.store.group import commit
from runtime.store.store import Store
from runtime.store.turnstile import Turnstile


async def test_many_callers_at_once_are_each_answered_with_their_own(here: World) -> None:
    await here.define(RELAY)
    answers: dict[str, str | None] = {}

    async def admit(name: str) -> None:
        answer = await here.store.admit("relay", name, 1, flow="a")
        answers[name] = answer.record.id if answer.record else None

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(admit, f"a{number}")
    assert answers == {name: name for name in answers}
    assert len(answers) == 200
    seqs = sorted([record.seq for record in await here.store.jobs(limit=1000)])
    assert seqs == list(range(1, 201))


async def test_an_earlier_tick_or_a_bad_value_of_one_caller_fails_no_other(here: World) -> None:
    await here.define(RELAY)
    await here.event("z1", now=5)
    found: list[str] = []

    async def admit(name: str, now: int) -> None:
        try:
            found.append(word(await here.store.admit("relay", name, 1, now=now)))
        except (ClockBackwards, InvalidValue) as error:
            found.append(type(error).__name__)

    async with anyio.create_task_group() as group:
        group.start_soon(admit, "a", 5)
        group.start_soon(admit, "b", 4)
        group.start_soon(admit, "", 5)
        group.start_soon(admit, "c", 5)
    assert sorted(found) == ["ClockBackwards", "InvalidValue", "accepted", "accepted"]


async def test_a_verb_whose_statement_fails_fails_no_other_verb_of_its_group(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    faults.plant(str(here.queue), "keepstep_audit")
    found: dict[str, str] = {}

    async def drain() -> None:
        found["drain"] = await here.error(here.store.transition("drain", 0))

    async def admit() -> None:
        found["admit"] = await here.event("b1")

    async with anyio.create_task_group() as group:
        group.start_soon(drain)
        group.start_soon(admit)
    assert faults.TEXT in found["drain"]
    assert found["admit"] == "accepted"


async def test_a_cancelled_caller_leaves_whole_transactions_and_a_store_that_works(here: World) -> None:
    await here.define(RELAY)
    for number in range(100):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(here.store.admit, "relay", f"a{number}", 1)
                if number % 2:
                    await anyio.lowlevel.checkpoint()
                scope.cancel()
    assert word(await here.store.admit("relay", "last", 1)) == "accepted"
    photo = await here.store.snapshot()
    tables = await here.tables()
    assert photo.jobs["ready"] == len(tables["keepstep_job"])


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 9, 15, 21])
async def test_claims_whose_receiver_has_gone_are_withdrawn_or_released(here: World, steps: int) -> None:
    await here.define(RELAY)
    await here.event("a1")
    held: list[Claim] = []

    async def receiver() -> None:
        held.extend((await here.store.claim(1, W1)).claims)

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(receiver)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    # a claim that was quicker than the cancellation has its receiver, who hands it back
    for claim in held:
        await here.store.release(claim.token, "the test has seen it")
    with anyio.fail_after(10):
        while (await here.store.snapshot()).jobs["ready"] != 1:
            await anyio.lowlevel.checkpoint()
    assert await here.event("b1") == "accepted"
    assert await here.fields("a1", "state", "attempts") == ["ready", 0]


async def settled(here: World) -> tuple[str, Callable[[], Coroutine[Any, Any, Any]]]:
    """A job in flight, another that is ready, and a pool's turn that commits the first and claims the second."""
    await here.define(RELAY)
    await here.event("a1")
    first = await here.take(W1)
    await here.event("b1")
    commit, request = Commit(first.token, 1, W1), ClaimRequest(1, W1)
    return first.token.job, lambda: here.store.settle(commits=[commit], claim=request)


async def flying(here: World) -> set[str]:
    """Who is in flight once everything that was handed over is served."""
    for _ in range(3):
        await here.store.register(RELAY)
    return {record.id for record in await here.store.jobs(state="inflight")}


@pytest.mark.parametrize("steps", range(0, 30, 3))
async def test_a_pools_turn_that_is_cancelled_leaves_no_claim_that_nobody_holds(here: World, steps: int) -> None:
    first, turn = await settled(here)
    held: set[str] = set()

    async def pool() -> None:
        _, claims = await turn()
        held.update(claim.token.job for claim in claims.claims)

    async with anyio.create_task_group() as group:
        group.start_soon(pool)
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    # a turn that was quicker than the cancellation has handed its claim over
    assert await flying(here) - {first} == held


async def test_answers_that_are_there_when_the_caller_is_cancelled_are_given_back(here: World) -> None:
    first, turn = await settled(here)
    task = asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        """In the one round of the loop in which the answer is there and its caller has not run yet."""
        task.cancel()

    for call in (turn, lambda: here.store.claim(1, W1)):
        stop = here.store.subscribe(cancel)
        with pytest.raises(asyncio.CancelledError):
            await call()
        stop()
        task.uncancel()
        assert await flying(here) == set()
    assert await here.fields(first, "state") == ["done"]
    assert await here.fields("b1", "state", "attempts") == ["ready", 0]


async def test_a_turn_that_another_process_keeps_is_busy_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with await Store.open(path, clock="logical", deadline_ms=50) as store:
        other = Turnstile(str(path))
        other.enter(float("inf"))
        with pytest.raises(StoreBusy, match="turn"):
            await store.register(RELAY)
        other.close()
        assert word(await store.register(RELAY)) == "registered"


async def test_a_writer_whose_closing_is_cancelled_keeps_the_turn_until_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, go, held = threading.Event(), threading.Event(), list[bool]()
    other = Turnstile(str(tmp_path / "app.db"))

    def slow(raw: sqlite3.Connection) -> None:
        inside.set()
        go.wait(20)
        try:
            other.enter(0.0)
        except StoreBusy:
            held.append(True)
        commit(raw)

    store = await Store.open(tmp_path / "app.db", clock="logical")
    monkeypatch.setattr(group, "commit", slow)
    request = store._submit("sweep", [None], None)
    assert await anyio.to_thread.run_sync(inside.wait, 20)
    async with anyio.create_task_group() as closing:
        closing.start_soon(store._writer.close)
        await anyio.wait_all_tasks_blocked()
        closing.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()
        go.set()
    await store.close()
    other.close()
    assert held == [True]
    request.future.exception()


async def test_a_pools_turn_settles_then_claims_in_one_transaction(here: World) -> None:
    await here.define(RELAY)
    for flow in "abc":
        await here.events(flow, 2)
    first, second, third = (await here.store.claim(3, W1)).claims
    answers, claims = await here.store.settle(
        commits=[Commit(first.token, 1, W1)],
        releases=[Callback(second.token, "stopping")],
        quarantines=[Callback(third.token, "unsure")],
        claim=ClaimRequest(5, W1),
    )
    verdicts = {
        verb: [word(answer) for answer in found if not isinstance(answer, Exception)] for verb, found in answers.items()
    }
    assert verdicts == {"commit_step": ["done"], "release": ["released"], "quarantine": ["quarantined"]}
    assert claims is not None
    assert [claim.token.job for claim in claims.claims] == ["a2", "b1"]


async def test_an_empty_batch_and_a_claim_of_nothing_are_answered(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    assert await here.store.admit_many([]) == []
    assert (await here.store.claim(0, W1)).claims == ()
    assert (await here.store.claim(5, Worker.declaring("none"))).claims == ()
    assert await here.ticket() == 0


async def test_a_store_error_names_what_was_being_done(here: World) -> None:
    faults.plant(str(here.queue), "keepstep_definition")
    with pytest.raises(StoreError, match="register"):
        await here.store.register(RELAY)

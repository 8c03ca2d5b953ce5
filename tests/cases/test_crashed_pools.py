"""Stuck after crash, with real processes and real signals: another worker takes over, and soon."""

import signal
from pathlib import Path

import anyio
import pytest

from runtime.protocol.records import Token, Worker
from runtime.store.store import Store
from tests.cases import apps
from tests.cases.apps import LEASE_S
from tests.cases.looking import counted, fields, happened, in_state, prepared
from tests.cases.notes import SLACK, begun, notes, open_gate, until
from tests.cases.pool import pool

TAKEN_OVER_S = SLACK * (LEASE_S + 0.5)
STARTED_S = SLACK * 2.0  # a pool of its own is up
CRASHED = 73


async def test_c02_a_dead_workers_job_does_not_fill_the_slot_that_takes_it_over(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    await store.admit("gated", "J1", {"gate": "open"}, flow="F")
    await store.admit("gated", "J2", {"gate": "open"}, flow="F")
    async with pool(db, "--concurrency", "1") as first:
        await until(begun(db.parent, 1))
        async with pool(db, "--concurrency", "1") as second:
            await second.ready()
            await first.kill()
            await until(begun(db.parent, 2))
            assert await fields(store, "J1", "state", "generation", "attempts") == ["inflight", 2, 2]
            assert await fields(store, "J2", "state", "generation") == ["ready", 0]
            open_gate(db.parent, "open")
            await until(counted(store, "done", 2))
    first_end, second_begin = notes(db.parent, "end", "J1"), notes(db.parent, "begin", "J2")
    assert len(first_end) == len(second_begin) == 1
    assert first_end[0]["at_ms"] <= second_begin[0]["at_ms"]


async def test_c03_recovery_takes_a_lease_and_not_the_time_limit(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    assert apps.GATED.steps[0].time_limit == 3_600_000
    await store.admit("gated", "J", {"gate": "open"})
    async with pool(db) as first:
        await until(begun(db.parent, 1))
        async with pool(db) as second:
            await second.ready()
            await anyio.sleep(LEASE_S)  # it is renewed meanwhile
            await first.kill()
            killed_at = anyio.current_time()
            await until(begun(db.parent, 2))
            assert anyio.current_time() - killed_at <= TAKEN_OVER_S
            assert await fields(store, "J", "attempts", "generation") == [2, 2]


async def test_c05_term_and_kill_end_in_the_same_final_state(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    await store.admit("gated", "killed", {"gate": "open"}, flow="1")
    async with pool(db, "--concurrency", "1") as killed:
        await until(begun(db.parent, 1, "killed"))
        await store.admit("gated", "stopped", {"gate": "open"}, flow="2")
        async with pool(db, "--concurrency", "1", "--grace", "50ms") as stopped:
            await until(begun(db.parent, 1, "stopped"))
            stopped.send(signal.SIGTERM)
            await killed.kill()
            assert await stopped.wait() == 0
        assert await fields(store, "stopped", "state", "attempts") == ["ready", 0]
        killed_at = anyio.current_time()
        async with pool(db) as fresh:
            await fresh.ready()
            await until(begun(db.parent, 2, "killed"))
            assert anyio.current_time() - killed_at <= TAKEN_OVER_S + STARTED_S
            await until(begun(db.parent, 2, "stopped"))
            assert await fields(store, "killed", "attempts") == [2]
            assert await fields(store, "stopped", "attempts") == [1]
            open_gate(db.parent, "open")
            await until(counted(store, "done", 2))
    for name in ("killed", "stopped"):
        assert await fields(store, name, "state", "generation") == ["done", 2]
        assert len(notes(db.parent, "begin", name)) == 2
    assert await happened(store, "killed") == ["lapsed"]
    assert await happened(store, "stopped") == ["released"]


def calls(folder: Path, job: str) -> list[str]:
    """The steps of a job whose handlers have begun, in order."""
    return [entry["step"] for entry in notes(folder, "begin", job)]


@pytest.mark.parametrize("after_claim", [False, True])
async def test_c08_work_that_stops_between_two_steps_goes_on_with_the_next(
    store: Store, db: Path, after_claim: bool
) -> None:
    await prepared(apps.app, store)
    await store.admit("three", "J", 1, flow="F")
    await store.admit("three", "J2", 1, flow="F")
    # a pool claims in the transaction that commits, so that only one that stops leaves the next step unclaimed
    if after_claim:
        env = {"KEEPSTEP_CRASH_AT": "claim.after_commit:3"}
        async with pool(db, "--concurrency", "1", env=env) as crashing:
            assert await crashing.wait() == CRASHED, crashing.log
        assert await fields(store, "J", "state", "cursor", "generation") == ["inflight", 2, 3]
    else:
        await two_steps_by_hand(store)
        assert await fields(store, "J", "state", "cursor", "generation") == ["ready", 2, 2]
    began = anyio.current_time()
    async with pool(db, "--concurrency", "1") as fresh:
        await fresh.ready()
        await until(lambda: calls(db.parent, "J")[-1:] == ["third"])
        assert anyio.current_time() - began <= TAKEN_OVER_S + STARTED_S
        await until(counted(store, "done", 2))
    expected = ["first", "second", "third"]
    assert calls(db.parent, "J") == (expected if after_claim else ["third"])
    assert calls(db.parent, "J2") == expected
    assert [effect.step for effect in await store.effects("J")] == [0, 1, 2]
    assert await fields(store, "J", "generation") == [4 if after_claim else 3]


async def two_steps_by_hand(store: Store) -> None:
    """Two steps of J are committed, and whoever did it is gone before it claims again."""
    worker = Worker.declaring("gone", apps.THREE)
    for _ in range(2):
        (claim,) = (await store.claim(1, worker)).claims
        assert claim.token.job == "J"
        assert (await store.commit_step(claim.token, "by hand", worker=worker)).verdict == "advanced"


@pytest.mark.parametrize(
    ("point", "committed"),
    [("commit_step.effects:2", False), ("commit_step.before_commit:2", False), ("commit_step.after_commit:2", True)],
)
async def test_c09_the_last_effect_and_the_end_are_one(store: Store, db: Path, point: str, committed: bool) -> None:
    await prepared(apps.app, store)
    await store.admit("two", "J", 1)
    async with pool(db, env={"KEEPSTEP_CRASH_AT": point}) as crashing:
        assert await crashing.wait() == CRASHED, crashing.log
    effects = [effect.name for effect in await store.effects("J")]
    state, cursor = await fields(store, "J", "state", "cursor")
    if committed:
        assert (state, cursor, effects) == ("done", 2, ["first", "second"])
        async with pool(db, "--until-idle") as fresh:
            assert await fresh.wait() == 0
        assert calls(db.parent, "J") == ["first", "second"]
    else:
        assert (state, cursor, effects) == ("inflight", 1, ["first"])
        async with pool(db) as fresh:
            await fresh.ready()
            await until(in_state(store, "J", "done"))
        assert calls(db.parent, "J") == ["first", "second", "second"]
        assert [effect.name for effect in await store.effects("J")] == ["first", "second"]
    generation, digest = await fields(store, "J", "generation", "current_digest")
    again = await store.commit_step(Token("J", 0, generation, 1, digest), 1, worker=Worker.declaring("w", apps.TWO))
    assert again.verdict == "stale"
    rows = await store.query("select step from done_call where job = 'J' order by step")
    assert rows == [("first",), ("second",)]

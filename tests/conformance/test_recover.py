"""recover: a job in flight is taken from its worker by a person's word (contract §8)."""

from demos.scenarios import migration
from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, word, words
from runtime.protocol.records import Operation
from runtime.store import faults
from tests.conformance.conftest import Saw


async def test_v20_under_hold_only_a_recover_moves_a_dead_workers_job_and_only_once(saw: Saw) -> None:
    assert await saw(migration.v20) == {
        "@1000000": None,
        "held": ["inflight", 1],
        "words": ["stale", "recovered", "stale", "refused"],
        "old": ["ready", 2, 0],
        "live lease": False,
    }


async def test_v21_recovered_at_cursor_one_a_job_goes_on_with_its_own_list(saw: Saw) -> None:
    assert await saw(migration.v21) == {"steps": [["old", "bonus", 1, "done"]], "total": 11, "effects": 2}


async def test_a_live_lease_is_recovered_too_and_the_answer_says_so(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1, 0)
    answer = await here.store.recover("a1", 1, "wrong worker", now=3)
    assert (word(answer), answer.live_lease) == ("recovered", True)
    assert await here.commit(claim, W1, now=3) == "stale"
    (audit,) = await here.audits("a1")
    assert (audit["verb"], audit["reason"], audit["before"]["generation"]) == ("recover", "wrong worker", 1)


async def test_recover_is_refused_for_ready_quarantined_and_done_jobs(here: World) -> None:
    await here.define(RELAY)
    for name in ("a1", "b1", "c1"):
        await here.event(name)
    await here.store.quarantine((await here.take(W1)).token, "unsure")
    await here.work(W1, 1)
    before = await here.photo()
    items = [Operation("a1", 1, "why"), Operation("b1", 1, "why"), Operation("c1", 0, "why"), Operation("x", 0, "why")]
    assert words(await here.store.recover_many(items)) == ["refused", "refused", "refused", "unknown"]
    assert await here.photo() == before


async def test_a_recover_whose_audit_row_fails_leaves_the_job_in_flight(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1)
    before = await here.photo()
    faults.plant(str(here.queue), "keepstep_audit")
    assert faults.TEXT in await here.error(here.store.recover("a1", 1, "gone"))
    faults.lift(str(here.queue))
    assert await here.photo() == before
    assert await here.commit(claim, W1) == "done"

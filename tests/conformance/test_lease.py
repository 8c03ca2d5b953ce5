"""Leases: live up to their last tick, lapsed after it, swept by the next claim or by the keeper (contract §7)."""

from demos.scenarios import relay
from demos.scenarios.drain import TASK
from demos.scenarios.relay import W1, W2
from demos.scenarios.world import RELAY, World, word
from runtime.protocol.records import Worker
from tests.conformance.conftest import Saw


async def test_r20_the_last_tick_of_a_lease_is_live(saw: Saw) -> None:
    assert await saw(relay.r20) == {"lease_until": 5, "@5": "done"}


async def test_r21_one_tick_later_a_commit_is_expired_though_nobody_took_over(saw: Saw) -> None:
    seen = await saw(relay.r21)
    assert seen["words"] == ["expired", "expired"]
    assert seen["a1"] == ["inflight", 0, 1]
    assert seen["effects"] == []
    ((what, generation, at, _, times),) = seen["history"]
    assert (what, generation, at, times) == ("refused", 1, 6, 2)


async def test_r22_the_next_worker_takes_over_one_tick_after_the_lease(saw: Saw) -> None:
    assert await saw(relay.r22) == {"@5": None, "tickets": [1, 2], "lease_until": 11, "a1": [2, 2, 2, "w2"]}


async def test_r23_every_other_callback_with_a_lapsed_token_is_expired_and_changes_nothing(saw: Saw) -> None:
    assert await saw(relay.r23) == {"words": ["expired"] * 4, "unchanged": True}


async def test_a_swept_job_still_answers_its_last_worker_expired_until_the_generation_rises(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1, 0)
    assert await here.store.sweep(now=6) == 1
    assert await here.fields("a1", "state", "due", "generation", "attempts") == ["ready", None, 1, 1]
    assert await here.commit(claim, W1, now=6) == "expired"
    assert await here.name_of_next(W2, 6) == "a1"
    assert await here.commit(claim, W1, now=6) == "stale"


async def test_a_lapsed_job_of_a_worker_with_the_wrong_cursor_is_stale_not_expired(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1, 0)).token
    wrong = type(token)(token.job, 0, token.generation, 1, token.digest)
    assert await here.commit(wrong, W1, now=6) == "stale"


async def test_a_sweep_leaves_a_row_of_history_for_each_lapse(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.take(W1, 0)
    await here.store.sweep(now=6)
    ((what, generation, at, _, times),) = await here.history("a1")
    assert (what, generation, at, times) == ("lapsed", 1, 6, 1)


async def test_a_swept_job_is_refused_a_recover_since_it_is_ready(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.take(W1, 0)
    await here.store.sweep(now=6)
    assert word(await here.store.recover("a1", 1, "gone")) == "refused"


async def test_under_hold_every_callback_still_works_after_the_lease(here: World) -> None:
    worker = Worker.declaring("w1", TASK)
    await here.define(TASK)
    for name in "abcde":
        await here.store.admit("task", name, 1)
    tokens = [claim.token for claim in (await here.store.claim(5, worker, now=0)).claims]
    assert await here.store.sweep(now=100) == 0
    store = here.store
    answers = [
        await store.renew(tokens[0]),
        await store.commit_step(tokens[1], None, worker=worker),
        await store.fail(tokens[2], "late"),
        await store.release(tokens[3], "late"),
        await store.quarantine(tokens[4], "late"),
    ]
    assert [word(answer) for answer in answers] == ["renewed", "done", "retry", "released", "quarantined"]

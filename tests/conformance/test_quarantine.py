"""quarantine: out of rotation until a person acts; by a worker, or by an operator (contract §7, §8)."""

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, word, words
from runtime.protocol.records import Callback, Operation
from runtime.store import faults


async def test_a_worker_quarantines_at_once_whatever_is_left_of_the_budget(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    answer = await here.store.quarantine((await here.take(W1, 0)).token, "no such address", worker="w1")
    assert word(answer) == "quarantined"
    fields = ("state", "reason", "attempts", "lifetime_attempts", "generation", "due", "lease_until")
    assert await here.fields("a1", *fields) == ["quarantined", "no such address", 1, 1, 1, None, None]
    assert [row[:2] for row in await here.history("a1")] == [["quarantined", 1]]


async def test_a_quarantined_job_is_still_an_unfinished_promise(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.store.quarantine((await here.take(W1)).token, "unsure")
    assert (await here.store.snapshot()).unfinished_by_definition == {RELAY.digest: 1}


async def test_a_batch_of_quarantines_answers_each_item(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1)).token
    items = [Callback(token, "\t"), Callback(token, "first"), Callback(token, "second")]
    assert words(await here.store.quarantine_many(items)) == ["InvalidValue", "quarantined", "stale"]
    assert await here.fields("a1", "reason") == ["first"]


async def test_an_operator_quarantines_a_ready_job_and_one_in_flight(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.event("b1")
    claim = await here.take(W1)
    answers = [
        await here.store.quarantine_job("a1", 1, "wrong address", actor="ann"),
        await here.store.quarantine_job("b1", 0, "wrong address"),
    ]
    assert [word(answer) for answer in answers] == ["quarantined", "quarantined"]
    fields = ("state", "generation", "attempts", "lifetime_attempts", "reason")
    assert await here.fields("a1", *fields) == ["quarantined", 2, 1, 1, "wrong address"]
    assert await here.fields("b1", *fields) == ["quarantined", 1, 0, 0, "wrong address"]
    assert await here.commit(claim, W1) == "stale"
    (audit,) = await here.audits("a1")
    assert (audit["actor"], audit["reason"], audit["before"]["generation"], audit["after"]["generation"]) == (
        "ann",
        "wrong address",
        1,
        2,
    )


async def test_an_operators_quarantine_blocks_an_ordered_flow_until_its_redrive(here: World) -> None:
    await here.define(RELAY)
    await here.events("a", 2)
    await here.store.quarantine_job("a1", 0, "wait")
    assert await here.name_of_next(W1) is None
    await here.store.redrive("a1", 1, "go on")
    assert await here.work(W1, 2) == ["a1", "a2"]


async def test_a_job_behind_the_head_can_be_quarantined_and_blocks_only_what_follows(here: World) -> None:
    await here.define(RELAY)
    await here.events("a", 3)
    await here.store.quarantine_job("a2", 0, "wait")
    assert await here.work(W1, 2) == ["a1", None]
    await here.store.redrive("a2", 1, "go on")
    assert await here.work(W1, 3) == ["a2", "a3", None]


async def test_an_operators_quarantine_is_refused_for_quarantined_and_done_jobs(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.work(W1, 1)
    await here.event("b1")
    items = [
        Operation("a1", 1, "why"),
        Operation("b1", 1, "why"),
        Operation("b1", 0, "why"),
        Operation("b1", 1, "why"),
        Operation("x", 0, "why"),
    ]
    answers = await here.store.quarantine_job_many(items)
    assert words(answers) == ["refused", "stale", "quarantined", "refused", "unknown"]


async def test_an_operators_quarantine_whose_audit_row_fails_leaves_the_job(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    before = await here.photo()
    faults.plant(str(here.queue), "keepstep_audit")
    assert faults.TEXT in await here.error(here.store.quarantine_job("a1", 0, "why"))
    faults.lift(str(here.queue))
    assert await here.photo() == before

"""redrive: a quarantined job gets another round by a person's word (contract §8)."""

from demos.scenarios import delivery, points
from demos.scenarios.cases import UNITS, V1, WORKER
from demos.scenarios.relay import W1
from demos.scenarios.stage import take
from demos.scenarios.world import RELAY, World, word, words
from runtime.protocol.records import Operation, Worker
from runtime.protocol.verdicts import OnLapse
from tests.conformance.conftest import Saw


async def test_r38_a_redriven_job_is_due_now_with_a_new_generation_and_one_audit_row(saw: Saw) -> None:
    seen = await saw(delivery.r38)
    assert seen["word"] == "redriven"
    assert seen["reason before"] == "no answer at 6"
    assert seen["a1"] == ["ready", None, 4, 0, 3, None, "a1", 1]
    (audit,) = seen["audits"]
    assert (audit["verb"], audit["subject"], audit["actor"], audit["at"]) == ("redrive", "a1", "ann", 6)
    assert audit["reason"] == "receiver repaired"
    assert audit["before"]["generation"] == 3
    assert audit["after"]["generation"] == 4
    assert audit["before"]["reason"] == "no answer at 6"
    assert seen["next"] == "a1"


async def test_r39_an_old_generation_is_stale_another_state_is_refused_a_blank_reason_is_an_error(saw: Saw) -> None:
    seen = await saw(delivery.r39)
    assert seen["old"] == ["stale", "stale"]
    assert seen["present"] == {
        "a1 ready": ["refused", True],
        "b1 done": ["refused", True],
        "c1 inflight": ["refused", True],
        "d1 ready": ["refused", True],
    }
    assert [error.split(":")[:2] for error in seen["blank"]] == [["InvalidValue", " reason"]] * 2
    assert seen["unchanged"]


async def test_r40_three_is_a_rounds_budget_not_a_lifetimes(saw: Saw) -> None:
    assert await saw(delivery.r40) == {
        "words": ["retry", "retry", "quarantined"],
        "a1": ["quarantined", 3, 6, 7],
        "again": "redriven",
    }


async def test_r44_a_redrive_whose_audit_row_fails_leaves_the_job_quarantined(saw: Saw) -> None:
    assert await saw(delivery.r44) == {"fault": True, "unchanged": True, "then": "redriven"}


async def test_a_redrive_does_not_erase_why_it_was_needed(here: World) -> None:
    await delivery.exhausted(here)
    before = await here.history("a1")
    await here.store.redrive("a1", 3, "repaired")
    assert await here.history("a1") == before
    assert len(before) == 3


async def test_a_job_with_committed_steps_is_redriven_and_goes_on_behind_them(here: World) -> None:
    await here.define(V1)
    await here.store.admit("points", "job", UNITS)
    await here.store.commit_step((await take(here.store, WORKER, 0)).token, 10, worker=WORKER)
    await here.store.quarantine((await take(here.store, WORKER, 0)).token, "broken", worker="worker")
    assert word(await here.store.redrive("job", 2, "repaired")) == "redriven"
    claim = await take(here.store, WORKER, 0)
    assert (claim.token.cursor, claim.token.generation, claim.attempt) == (1, 4, 1)
    assert [effect.value for effect in await here.store.effects("job")] == [10]
    assert (await here.store.commit_step(claim.token, 1, worker=WORKER)).verdict == "done"


async def test_redrive_ignores_capacity_and_works_while_draining(here: World) -> None:
    await delivery.exhausted(here)
    await here.store.set("capacity", 0, "nothing new")
    await here.store.transition("drain", 0)
    assert word(await here.store.redrive("a1", 3, "repaired")) == "redriven"
    assert await here.name_of_next(W1, 6) == "a1"


async def test_a_redrive_may_migrate_in_the_same_transaction_with_two_audit_rows(here: World) -> None:
    first, second = points.points(OnLapse.RETRY)
    await here.define(first, second)
    await points.admit(here, "old")
    worker = Worker.declaring("w1", first, second)
    await here.store.quarantine((await here.take(worker)).token, "wrong")
    answer = await here.store.redrive("old", 1, "other list", to=second.digest)
    assert word(answer) == "redriven"
    record = await here.job("old")
    assert (record.generation, record.binding_revision, record.current_digest) == (3, 1, second.digest)
    assert [row["verb"] for row in await here.audits("old")] == ["redrive", "migrate"]
    await points.run_until_idle(here, worker)
    assert await points.total(here, "old") == 13


async def test_a_redrive_whose_migration_is_refused_changes_nothing(here: World) -> None:
    await here.define(points.V1, points.V2)
    await points.admit(here, "old")
    await here.store.quarantine((await here.take(points.BOTH)).token, "wrong")
    before = await here.photo()
    answer = await here.store.redrive("old", 1, "other list", to=points.D2)
    assert word(answer) == "refused"
    assert answer.cause is not None
    assert "effects_checked" in answer.cause
    assert await here.photo() == before
    checked = await here.store.redrive("old", 1, "other list", to=points.D2, effects_checked=True)
    assert word(checked) == "redriven"


async def test_a_batch_of_redrives_answers_each_item_in_order(here: World) -> None:
    await delivery.exhausted(here)
    await here.event("b1")
    items = [
        Operation("nobody", 1, "why"),
        Operation("a1", 3, " "),
        Operation("b1", 0, "why"),
        Operation("a1", 3, "why"),
        Operation("a1", 3, "why"),
        Operation("a1", 4, "why"),
    ]
    answers = await here.store.redrive_many(items)
    assert words(answers) == ["unknown", "InvalidValue", "refused", "redriven", "stale", "refused"]
    assert len(await here.audits("a1")) == 1


async def test_a_redriven_job_of_an_ordered_flow_blocks_its_flow_no_longer(here: World) -> None:
    await here.define(RELAY)
    await here.events("a", 2)
    await here.store.quarantine((await here.take(W1)).token, "unsure")
    await here.store.redrive("a1", 1, "looked")
    assert await here.work(W1, 3) == ["a1", "a2", None]

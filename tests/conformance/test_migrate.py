"""migrate: a ready job with no committed step goes over to another list, by a person's word (contract §8)."""

from demos.scenarios import migration
from demos.scenarios.points import BOTH, D1, D2, admit, define, run_until_idle, total
from demos.scenarios.world import World, word, words
from runtime.protocol.records import Migration
from runtime.store import faults
from tests.conformance.conftest import Saw


async def test_v15_the_current_definition_changes_and_the_promises_own_marks_do_not(saw: Saw) -> None:
    seen = await saw(migration.v15)
    (audit,) = seen.pop("audits")
    assert seen == {
        "word": "migrated",
        "digests": [True, True],
        "rises": [1, 1],
        "same": [True, True],
        "steps": [["old", "bonus", 3, "advanced"], ["old", "base", 10, "done"]],
        "effects on V2": [True, True],
        "total": 13,
    }
    assert (audit["verb"], audit["subject"], audit["actor"], audit["reason"]) == ("migrate", "old", "ann", "agreed")
    assert (audit["before"]["digest"], audit["after"]["digest"]) == (D1, D2)
    assert (audit["before"]["binding_revision"], audit["after"]["binding_revision"]) == (0, 1)


async def test_v16_what_is_refused_says_why_and_an_old_revision_is_stale_first(saw: Saw) -> None:
    seen = await saw(migration.v16)
    assert {name: said for name, (said, _) in seen["refused"].items()} == dict.fromkeys(seen["refused"], "refused")
    causes = {cause for _, cause in seen["refused"].values()}
    assert None not in causes
    assert len(causes) == len(seen["refused"]) == 7
    assert [error.split(":")[0] for error in seen["blank"]] == ["InvalidValue"] * 2
    assert seen["old revision"] == ["stale", "stale"]
    assert seen["unchanged"]


async def test_v17_a_migrated_jobs_admission_is_a_replay_and_its_audit_chain_has_no_gap(saw: Saw) -> None:
    seen = await saw(migration.v17)
    assert seen["replays"] == [["replay", True, 1], ["replay", True, 2]]
    chain = [(before["digest"], after["digest"]) for before, after in seen["chain"]]
    assert chain == [(D1, D2), (D2, D1)]
    assert [after["binding_revision"] for _, after in seen["chain"]] == [1, 2]


async def test_v18_under_hold_cursor_zero_is_no_proof_so_a_person_says_that_effects_were_checked(saw: Saw) -> None:
    seen = await saw(migration.v18)
    said, cause = seen["refused"]
    assert said == "refused"
    assert "effects_checked" in cause
    assert seen["checked"] == "migrated"
    assert seen["late"] == "stale"
    recovered, migrated = seen["audits"]
    assert (recovered["verb"], migrated["verb"]) == ("recover", "migrate")
    assert migrated["before"]["lifetime_attempts"] == 1
    assert seen["total"] == 13


async def test_v18_under_retry_it_is_migrated_at_once(saw: Saw) -> None:
    assert await saw(migration.v18_retry) == {"word": "migrated", "late": "stale", "total": 13}


async def test_v19_a_lost_reply_is_stale_without_a_command_id_and_the_same_answer_with_it(saw: Saw) -> None:
    assert await saw(migration.v19) == {
        "words": ["migrated", "stale", "migrated", "conflict"],
        "audits": 1,
        "old": [True, 1],
    }


async def test_a_job_that_backs_off_is_migrated_and_due_now(here: World) -> None:
    await define(here)
    await admit(here, "old")
    await here.fail(await here.take(BOTH, 0))
    answer = await here.store.migrate("old", 0, D2, "agreed", effects_checked=True)
    assert word(answer) == "migrated"
    assert await here.fields("old", "state", "due", "attempts", "generation") == ["ready", None, 0, 2]
    await run_until_idle(here, BOTH)
    assert await total(here, "old") == 13


async def test_a_migrate_whose_audit_row_or_binding_fails_leaves_neither(here: World) -> None:
    await define(here)
    await admit(here, "old")
    before = await here.photo()
    for table, event in (("keepstep_audit", "insert"), ("keepstep_job", "update")):
        faults.plant(str(here.queue), table, event)
        assert faults.TEXT in await here.error(here.store.migrate("old", 0, D2, "agreed"))
        faults.lift(str(here.queue))
        assert await here.photo() == before
    assert word(await here.store.migrate("old", 0, D2, "agreed")) == "migrated"


async def test_a_batch_of_migrations_is_judged_in_order(here: World) -> None:
    await define(here)
    await admit(here, "old")
    items = [
        Migration("nobody", 0, D2, "agreed"),
        Migration("old", 0, D2, ""),
        Migration("old", 0, D2, "agreed"),
        Migration("old", 0, D1, "agreed"),
        Migration("old", 1, D1, "agreed"),
    ]
    answers = await here.store.migrate_many(items)
    assert words(answers) == ["unknown", "InvalidValue", "migrated", "stale", "migrated"]
    assert await here.fields("old", "binding_revision", "generation") == [2, 2]
    assert len(await here.audits("old")) == 2


async def test_migration_works_while_draining_and_moves_the_count_of_unfinished(here: World) -> None:
    await define(here)
    await admit(here, "old")
    await here.store.transition("drain", 0)
    await here.store.migrate("old", 0, D2, "agreed")
    assert (await here.store.snapshot()).unfinished_by_definition == {D2: 1}

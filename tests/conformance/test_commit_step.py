"""commit_step: the token, the effect, the cursor (contract §6)."""

import sqlite3
from contextlib import closing

from msgspec import structs

from demos.scenarios import drain, migration, points, relay
from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, step, words
from runtime.protocol.canonical import Canonical, canonical
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Commit, Token, Worker
from runtime.store import faults
from runtime.store.store import Store
from tests.conformance.conftest import Saw

OTHER = Manifest("relay", "relay/2", (step("deliver", "deliver"),))


async def test_r24_a_first_worker_that_comes_back_is_stale_and_the_new_round_is_not_touched(saw: Saw) -> None:
    assert await saw(relay.r24) == {"first": "stale", "unchanged": True, "second": "done", "effects": 1}


async def test_r25_so_it_is_with_its_failure_and_there_is_no_backoff(saw: Saw) -> None:
    assert await saw(relay.r25) == {"first": "stale", "a1": ["inflight", 2, None, "w2"]}


async def test_r26_one_commit_delivered_twice_counts_once(saw: Saw) -> None:
    assert await saw(relay.r26) == {"words": ["done", "stale"], "effects": 1}


async def test_r26_one_commit_twice_in_a_batch_is_answered_in_the_order_given(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1)).token
    answers = await here.store.commit_step_many([Commit(token, "first", W1), Commit(token, "second", W1)])
    assert words(answers) == ["done", "stale"]
    assert [value for *_, value in await here.effects("a1")] == ["first"]


async def test_r27_old_tokens_are_stale_for_ever_and_what_was_sent_stays_sent(saw: Saw) -> None:
    assert await saw(relay.r27) == {
        "words": {"quarantined": "stale", "redriven": "stale", "claimed again": "stale", "done": "stale"},
        "sent": "accepted",
        "totals": {"a": 10},
    }


async def test_v12_every_part_of_a_token_counts_and_an_undeclared_digest_is_an_error(saw: Saw) -> None:
    seen = await saw(points.v12)
    parts = ("job", "binding_revision", "generation", "cursor", "digest")
    assert seen["changed"] == dict.fromkeys(parts, "stale")
    assert seen["undeclared"].startswith("Undeclared: ")
    assert seen["unchanged"]
    assert seen["right"] == "advanced"


async def test_v13_between_two_steps_a_job_is_ready_for_any_worker_that_declares_it(saw: Saw) -> None:
    assert await saw(points.v13) == {
        "first": ["old", "base", 10, "advanced"],
        "between": ["ready", 1],
        "second": ["old", "bonus", 1, "done"],
        "end": ["done", 2],
        "effects": [[0, "base", True, 10, "old"], [1, "bonus", True, 1, "both"]],
    }


async def test_v22_a_definition_edited_by_hand_stops_its_jobs_before_any_effect_and_no_others(saw: Saw) -> None:
    seen = await saw(migration.v22)
    assert seen["answers"] == ["RegistryDamaged", "advanced"]
    assert seen["old"] == [True, []]
    assert seen["register"] == "RegistryDamaged"


async def test_d12_generation_and_control_version_are_never_compared(saw: Saw) -> None:
    assert await saw(drain.d12) == {"generation": 7, "commit": "done", "end": ["draining", 1]}


async def test_d14_an_old_generation_another_jobs_generation_and_a_done_job_are_stale(saw: Saw) -> None:
    assert await saw(drain.d14) == {"words": ["stale"] * 3, "unchanged": True}


async def test_d15_two_deliveries_of_one_commit_write_one_effect(saw: Saw) -> None:
    assert await saw(drain.d15) == {"words": ["done", "stale"], "effects": 1}


async def test_a_job_that_does_not_exist_is_unknown(here: World) -> None:
    await here.define(RELAY)
    assert await here.commit(Token("nobody", 0, 1, 0, RELAY.digest), W1) == "unknown"


async def test_a_value_that_is_not_json_fails_no_neighbour_and_writes_nothing(here: World) -> None:
    await here.define(RELAY)
    for name in ("a1", "b1", "c1"):
        await here.event(name)
    tokens = [claim.token for claim in (await here.store.claim(3, W1)).claims]
    values = [float("inf"), "x" * 2**20, 1]
    answers = await here.store.commit_step_many(
        [Commit(token, value, W1) for token, value in zip(tokens, values, strict=True)]
    )
    assert words(answers) == ["InvalidValue", "InvalidValue", "done"]
    assert await here.fields("a1", "state", "cursor") == ["inflight", 0]
    assert await here.effects("b1") == []


async def test_a_commit_whose_effect_or_cursor_cannot_be_written_leaves_neither(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1)).token
    before = await here.photo()
    for table, event in (("keepstep_effect", "insert"), ("keepstep_job", "update"), ("keepstep_flow", "update")):
        faults.plant(str(here.queue), table, event)
        error = await here.error(here.store.commit_step(token, 1, worker=W1))
        faults.lift(str(here.queue))
        assert faults.TEXT in error
        assert await here.photo() == before
    assert await here.commit(token, W1) == "done"


async def test_refusals_of_one_kind_are_counted_in_one_row_of_history(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1, 0)).token
    await here.commit(token, W1)
    for now in (1, 2, 3):
        await here.commit(token, W1, now=now)
    await here.fail(token)
    rows = [(row.what, row.at, row.last_at, row.times) for row in await here.store.history("a1")]
    assert rows == [("refused", 1, 3, 3), ("refused", 3, 3, 1)]


async def test_an_effect_keeps_when_by_which_generation_and_by_whom(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.commit(await here.take(W1, 3), W1, {"n": 1}, now=4)
    (effect,) = await here.store.effects("a1")
    assert (effect.step, effect.name, effect.digest, effect.value) == (0, "deliver", RELAY.digest, {"n": 1})
    assert (effect.at, effect.generation, effect.worker) == (4, 1, "w1")


async def test_a_worker_with_another_manifest_under_the_same_digest_writes_nothing(here: World) -> None:
    await here.define(points.V1)
    await points.admit(here, "old")
    token = (await here.take(points.ONLY_V1)).token
    forged = Worker("forged", {points.D1: points.V2})
    assert (await here.error(here.store.commit_step(token, 1, worker=forged))).startswith("RegistryDamaged: ")
    assert await here.effects("old") == []


async def test_in_one_batch_each_workers_own_manifests_are_compared(here: World) -> None:
    await here.define(points.V1)
    tokens = []
    for name in ("one", "two", "three", "four"):
        await points.admit(here, name)
        tokens.append((await here.take(points.ONLY_V1)).token)
    forged, ignorant = Worker("forged", {points.D1: points.V2}), Worker.declaring("ignorant", RELAY)
    workers = (points.ONLY_V1, forged, ignorant, points.ONLY_V1)
    items = [Commit(token, 1, worker) for token, worker in zip(tokens, workers, strict=True)]
    answers = await here.store.commit_step_many(items)
    assert words(answers) == ["advanced", "RegistryDamaged", "Undeclared", "advanced"]


async def test_in_one_batch_a_token_made_up_for_the_step_to_come_is_stale(here: World) -> None:
    await here.define(points.V1)
    await points.admit(here, "old")
    token = (await here.take(points.ONLY_V1)).token
    ahead = structs.replace(token, cursor=1)
    answers = await here.store.commit_step_many([Commit(each, 1, points.ONLY_V1) for each in (token, ahead)])
    assert words(answers) == ["advanced", "stale"]


async def test_a_value_that_is_canonical_already_is_stored_as_it_stands_if_it_is_a_pools(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token, value = (await here.take(W1)).token, Canonical(canonical({"b": 1, "a": [2.5, "ü"]}).decode())
    assert (await here.error(here.store.commit_step(token, value, worker=W1))).startswith("InvalidValue: value: ")
    answers, _ = await here.store.settle(commits=[Commit(token, value, W1)])
    assert words(answers["commit_step"]) == ["done"]
    (effect,) = await here.store.effects("a1")
    assert effect.value == {"a": [2.5, "ü"], "b": 1}


async def one_job_of_each(here: World) -> list[Commit]:
    """What a worker would commit that has claimed a job of RELAY and one of OTHER."""
    await here.define(RELAY, OTHER)
    await here.event("a1")
    await here.store.switch(OTHER.digest, 1)
    await here.event("b1")
    worker = Worker.declaring("w", RELAY, OTHER)
    return [Commit((await here.take(worker)).token, 1, worker) for _ in range(2)]


async def test_v22_a_definition_that_is_not_even_text_any_more_stops_its_own_jobs_only(here: World) -> None:
    commits = await one_job_of_each(here)
    with closing(sqlite3.connect(here.queue)) as raw, raw:
        raw.execute("update keepstep_definition set manifest = cast(x'ff' as text) where digest = ?", (RELAY.digest,))
    answers = await here.store.commit_step_many(commits)
    assert words(answers) == ["RegistryDamaged", "done"]
    assert words(await here.store.register_many([RELAY, OTHER])) == ["RegistryDamaged", "known"]
    assert await here.effects("a1") == []


async def test_a_definition_whose_row_is_gone_stops_its_own_jobs_only(here: World) -> None:
    commits = await one_job_of_each(here)
    with closing(sqlite3.connect(here.queue)) as raw, raw:
        raw.execute("delete from keepstep_definition where digest = ?", (RELAY.digest,))
    async with await Store.open(here.queue, create=False, clock="logical") as anew:
        answers = await anew.commit_step_many(commits)
        assert words(answers) == ["stale", "done"]

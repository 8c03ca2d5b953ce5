"""transition: the barrier: open, draining, paused (contract §9)."""

import pytest

from demos.scenarios import drain
from demos.scenarios.drain import W1
from demos.scenarios.world import Item, World, word
from runtime.store import faults
from tests.conformance.conftest import Saw


async def test_d01_a_new_store_is_open_at_zero_and_no_opening_resets_it(saw: Saw) -> None:
    assert await saw(drain.d01) == {"barrier": [["open", 0], ["draining", 1], ["paused", 2]]}


async def test_d02_the_life_cycle(saw: Saw) -> None:
    assert await saw(drain.d02) == {
        "words": ["accepted", "draining", "busy", "done", "paused", "replay", "closed"],
        "end": ["paused", 2],
        "jobs": 1,
        "effects": 1,
    }


async def test_d03_door_shut_exit_open(saw: Saw) -> None:
    assert await saw(drain.d03) == {"failed": "retry", "@1": None, "@2": "done"}


@pytest.mark.parametrize(
    ("item", "unfinished"),
    [
        (drain.d04_ready, {"ready": 1}),
        (drain.d04_inflight, {"inflight": 1}),
        (drain.d04_waiting, {"waiting": 1}),
        (drain.d04_quarantined, {"quarantined": 1}),
        (drain.d04_held, {"inflight": 1}),
        (drain.d04_between, {"ready": 1}),
    ],
)
async def test_d04_every_unfinished_job_alone_keeps_pause_busy(saw: Saw, item: Item, unfinished: object) -> None:
    assert await saw(item) == {"pause": ["busy", "draining", 1, unfinished]}


async def test_d05_an_empty_queue_is_not_done(saw: Saw) -> None:
    assert await saw(drain.d05) == {
        "claim": None,
        "pause": ["busy", "draining", 1],
        "unfinished": {"inflight": 1, "quarantined": 2},
    }


async def test_d06_the_right_version_at_the_wrong_moment_is_refused_and_raises_nothing(saw: Saw) -> None:
    assert await saw(drain.d06) == {
        "open": [["refused", "open", 0]] * 2,
        "open, unfinished": ["refused", "open", 0],
        "draining": ["refused", "draining", 1],
        "paused": [["refused", "paused", 2]] * 2,
    }


async def test_d07_under_hold_a_dead_workers_job_blocks_until_its_commit_or_a_recover(saw: Saw) -> None:
    assert await saw(drain.d07) == {
        "@1000000": ["busy", "draining", 1],
        "a": ["inflight", 1, "w1", 0],
        "recovered": "recovered",
        "late": "stale",
    }


async def test_d10_a_late_resume_of_an_earlier_round_does_not_open_the_door(saw: Saw) -> None:
    assert (await saw(drain.d10))["told"] == [
        ["draining", "draining", 1],
        ["open", "open", 2],
        ["draining", "draining", 3],
        ["stale", "draining", 3],
        ["open", "open", 4],
    ]


async def test_d11_each_success_raises_the_version_by_one_and_no_failure_does(saw: Saw) -> None:
    seen = await saw(drain.d11)
    assert [version for _, _, version in seen["told"]] == [1, 2, 3, 4, 5]
    assert seen["wrong"] == 0


async def test_d13_quarantine_redrive_two_rounds_then_paused(saw: Saw) -> None:
    assert await saw(drain.d13) == {
        "words": ["quarantined", "busy", "redriven", "stale", "done", "paused"],
        "effects then": [],
        "generations": [1, 3],
    }


async def test_d16_after_paused_every_token_is_stale_and_what_reads_or_prepares_works(saw: Saw) -> None:
    assert await saw(drain.d16) == {
        "late": ["stale"] * 5,
        "claim": ["paused", 0],
        "works": ["replay", "conflict", "known", "switched", "open"],
    }


async def test_d17_a_lost_reply_is_stale_without_a_command_id_and_the_same_answer_with_it(saw: Saw) -> None:
    assert await saw(drain.d17) == {
        "told": [
            ["draining", "draining", 1],
            ["stale", "draining", 1],
            ["draining", "draining", 1],
            ["conflict", "draining", 1],
            ["busy", "draining", 1],
            ["paused", "paused", 2],
        ]
    }


async def test_d23_what_is_no_version_or_no_action_is_an_error_that_names_it(saw: Saw) -> None:
    seen = await saw(drain.d23)
    *versions, action = seen["errors"]
    assert [error.split(":")[:2] for error in versions] == [["InvalidValue", " expected_version"]] * 5
    assert action.startswith("InvalidValue: action: ")
    assert seen["unchanged"]


async def test_a_barrier_command_leaves_one_audit_row_and_a_failed_one_none(here: World) -> None:
    await here.store.transition("drain", 0, reason="a new disk", actor="ann")
    await here.store.transition("drain", 0)
    await here.store.transition("drain", 1)
    (audit,) = await here.store.audit()
    assert (audit.actor, audit.verb, audit.subject, audit.reason) == ("ann", "drain", "barrier", "a new disk")
    assert (audit.before, audit.after) == ({"mode": "open", "version": 0}, {"mode": "draining", "version": 1})


async def test_a_blank_actor_or_reason_is_an_error_and_moves_nothing(here: World) -> None:
    before = await here.photo()
    assert (await here.error(here.store.transition("drain", 0, actor=" "))).startswith("InvalidValue: actor")
    assert (await here.error(here.store.transition("drain", 0, reason=" "))).startswith("InvalidValue: reason")
    assert await here.photo() == before


async def test_a_barrier_command_whose_audit_row_fails_moves_nothing(here: World) -> None:
    before = await here.photo()
    faults.plant(str(here.queue), "keepstep_audit")
    assert faults.TEXT in await here.error(here.store.transition("drain", 0))
    faults.lift(str(here.queue))
    assert await here.photo() == before
    assert await drain.ask(here, "drain", 0) == ["draining", "draining", 1]


async def test_pause_when_empty_is_remembered_with_its_version_and_ends_with_its_round(here: World) -> None:
    await here.store.transition("drain", 0, pause_when_empty=True)
    assert (await here.store.snapshot()).pause_when_empty
    await here.store.transition("resume", 1)
    await here.store.transition("drain", 2)
    assert not (await here.store.snapshot()).pause_when_empty


async def test_a_paused_store_takes_settings_but_no_new_work(here: World) -> None:
    await drain.drained(here)
    assert word(await here.store.set("capacity", 5, "for later")) == "set"
    assert await drain.admit(here, "b") == "closed"
    assert await here.name_of_next(W1) is None


async def test_drain_pause_and_resume_work_on_an_empty_store(here: World) -> None:
    told = [await drain.ask(here, action, version) for version, action in enumerate(("drain", "pause", "resume"))]
    assert [said for said, _, _ in told] == ["draining", "paused", "open"]

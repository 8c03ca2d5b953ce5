"""switch: where new jobs of a workflow go (contract §3)."""

from demos.scenarios import points
from demos.scenarios.points import D1, D2, define
from demos.scenarios.world import World, word, words
from runtime.protocol.records import Switch
from runtime.store import faults
from tests.conformance.conftest import Saw


async def test_v06_a_late_switch_of_an_earlier_revision_is_stale(saw: Saw) -> None:
    assert await saw(points.v06) == {
        "told": [["switched", 1], ["switched", 2], ["switched", 3], ["stale", 3]],
        "unregistered": ["refused", True],
        "route": ["V1", 3],
    }


async def test_v07_a_switch_changes_no_job(saw: Saw) -> None:
    assert await saw(points.v07) == {"unchanged": True, "jobs": 3}


async def test_a_switch_to_the_present_digest_raises_the_revision_too(here: World) -> None:
    await define(here)
    answer = await here.store.switch(D1, 1)
    assert (word(answer), answer.revision) == ("switched", 2)


async def test_a_switch_leaves_an_audit_row_and_its_reason_is_optional(here: World) -> None:
    await define(here)
    await here.store.switch(D2, 1, reason="the new list", actor="ann")
    later, first = await here.store.audit()
    assert (first.reason, later.reason, later.actor, later.verb) == (None, "the new list", "ann", "switch")
    assert (later.before["digest"], later.after["digest"]) == (D1, D2)


async def test_a_switch_sent_again_under_its_command_id_is_answered_again(here: World) -> None:
    await define(here)
    first = await here.store.switch(D2, 1, command_id="c1")
    again = await here.store.switch(D2, 1, command_id="c1")
    other = await here.store.switch(D1, 1, command_id="c1")
    assert [word(answer) for answer in (first, again, other)] == ["switched", "switched", "conflict"]
    assert first.revision == again.revision == 2
    assert word(await here.store.transition("drain", 0, command_id="c1")) == "conflict"


async def test_a_batch_of_switches_is_judged_in_order(here: World) -> None:
    await define(here)
    items = [Switch(D2, 1), Switch(D1, 1), Switch("0" * 64, 2), Switch(D1, -1), Switch(D1, 2)]
    assert words(await here.store.switch_many(items)) == ["switched", "stale", "refused", "InvalidValue", "switched"]


async def test_a_switch_whose_audit_row_fails_changes_nothing(here: World) -> None:
    await define(here)
    before = await here.photo()
    faults.plant(str(here.queue), "keepstep_audit")
    assert faults.TEXT in await here.error(here.store.switch(D2, 1))
    faults.lift(str(here.queue))
    assert await here.photo() == before

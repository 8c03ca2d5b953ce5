"""admit: identity, the door, capacity, the route, a place in the flow (contract §4)."""

from demos.scenarios import delivery, drain, points, relay
from demos.scenarios.world import RELAY, World, word, words
from runtime.protocol.records import Admission
from tests.conformance.conftest import Saw

NEW = ["ready", 0, 0, 0]


async def test_r01_each_flow_counts_its_own_numbers_from_one(saw: Saw) -> None:
    assert await saw(relay.r01) == {
        "words": ["accepted"] * 4,
        "jobs": {"a1": [1, *NEW], "a2": [2, *NEW], "a3": [3, *NEW], "b1": [1, *NEW]},
    }


async def test_r02_the_same_body_with_its_keys_in_another_order_is_a_replay(saw: Saw) -> None:
    assert await saw(relay.r02) == {"word": "replay", "unchanged": True}


async def test_r03_another_body_or_flow_under_a_known_id_is_a_conflict_and_uses_no_number(saw: Saw) -> None:
    assert await saw(relay.r03) == {
        "words": [["conflict", "payload"], ["conflict", "flow"]],
        "unchanged": True,
        "next": [4],
    }


async def test_r04_a_delta_outside_its_range_is_an_error_that_names_it_and_leaves_nothing(saw: Saw) -> None:
    seen = await saw(relay.r04)
    assert seen["taken"] == ["accepted", "accepted"]
    assert len(seen["errors"]) == 8
    for error in seen["errors"]:
        assert error.startswith("InvalidValue: ")
        assert "delta: " in error
        assert "an integer from 1 to 1000" in error
    assert seen["unchanged"]
    assert seen["next"] == [3]


async def test_r41_after_a_redrive_the_identity_is_known_as_before(saw: Saw) -> None:
    assert await saw(delivery.r41) == {"same": "replay", "other": "conflict"}


async def test_r42_an_admission_whose_second_write_fails_leaves_nothing_and_uses_no_number(saw: Saw) -> None:
    seen = await saw(delivery.r42)
    assert [told for _, *told in seen["faults"]] == [[True, True]] * 3
    assert seen["a3"] == [3]


async def test_v08_a_job_is_bound_when_admitted_and_a_replay_never_binds_again(saw: Saw) -> None:
    assert await saw(points.v08) == {
        "old": [True, True, 0, 0],
        "generation": 0,
        "again": ["replay", True],
        "new on V2": True,
    }


async def test_v09_other_units_under_a_known_id_are_a_conflict_that_names_the_field(saw: Saw) -> None:
    assert await saw(points.v09) == {"told": ["conflict", "payload"], "unchanged": True}


async def test_v10_a_refused_value_is_an_error_that_names_its_place_and_leaves_nothing(saw: Saw) -> None:
    seen = await saw(points.v10)
    assert [error.split(": ")[:2] for error in seen["units"]] == [["InvalidValue", "payload.units"]] * 6 + [
        ["InvalidValue", "payload"]
    ]
    assert [error.split(": ")[:2] for error in seen["values"]] == [
        ["InvalidValue", "payload"],
        ["InvalidValue", "payload.units"],
    ]
    assert [error.split(": ")[:2] for error in seen["ids"]] == [["InvalidValue", "id"]] * 3
    assert seen["route"].startswith("NoRoute: ")
    assert "'nowhere'" in seen["route"]
    assert seen["unchanged"]
    assert seen["then"] == "accepted"


async def test_d08_identity_is_judged_before_the_door_in_every_mode(saw: Saw) -> None:
    assert await saw(drain.d08) == {
        "draining": ["replay", "conflict", "closed"],
        "unchanged": True,
        "paused": ["replay", "conflict", "closed"],
        "states": ["ready", "done"],
        "resumed": "accepted",
    }


async def test_d09_identity_is_judged_before_capacity_and_the_door_before_capacity(saw: Saw) -> None:
    seen = await saw(drain.d09)
    assert seen["words"] == ["replay", "conflict", "full"]
    assert "capacity" in seen["says which"] or "limit" in seen["says which"]
    assert seen["draining"] == "closed"


async def test_a_duplicate_inside_a_batch_is_judged_as_in_two_calls(here: World) -> None:
    await here.define(RELAY)
    items = [
        Admission("relay", "a1", {"delta": 1}, "a"),
        Admission("relay", "a1", {"delta": 1}, "a"),
        Admission("relay", "a1", {"delta": 2}, "a"),
        Admission("relay", "a2", {"delta": 1}, "a"),
    ]
    assert words(await here.store.admit_many(items)) == ["accepted", "replay", "conflict", "accepted"]
    assert await here.fields("a2", "seq") == [2]


async def test_a_bad_item_fails_no_neighbour_and_uses_no_number(here: World) -> None:
    await here.define(RELAY)
    items = [
        Admission("relay", "a1", {"delta": 1}, "a"),
        Admission("relay", "", {"delta": 1}, "a"),
        Admission("nowhere", "x", {"delta": 1}, "a"),
        Admission("relay", "a3", float("nan"), "a"),
        Admission("relay", "a4", {"delta": 1}, "a\0"),
        Admission("relay", "a2", {"delta": 1}, "a"),
    ]
    assert words(await here.store.admit_many(items)) == [
        "accepted",
        "InvalidValue",
        "NoRoute",
        "InvalidValue",
        "InvalidValue",
        "accepted",
    ]
    assert await here.fields("a2", "seq") == [2]


async def test_earlier_items_of_a_call_count_against_capacity(here: World) -> None:
    await here.define(RELAY)
    await here.store.set("capacity", 2, "small")
    items = [Admission("relay", f"{flow}1", 1, flow) for flow in "abc"]
    items.append(Admission("relay", "a1", 1, "a"))
    assert words(await here.store.admit_many(items)) == ["accepted", "accepted", "full", "replay"]


async def test_a_flow_at_its_limit_is_full_beside_one_that_is_not(here: World) -> None:
    await here.define(RELAY)
    await here.store.set("flow_capacity", 1, "small")
    found = [await here.event(name) for name in ("a1", "a2", "b1")]
    assert found == ["accepted", "full", "accepted"]
    anonymous = [word(await here.store.admit("relay", f"x{number}", 1)) for number in range(3)]
    assert anonymous == ["accepted"] * 3


async def test_a_quarantined_job_counts_against_capacity_and_a_done_one_does_not(here: World) -> None:
    await here.define(RELAY)
    await here.store.set("capacity", 1, "small")
    await here.event("a1")
    await here.store.quarantine((await here.take(relay.W1)).token, "unsure")
    assert await here.event("b1") == "full"
    await here.store.redrive("a1", 1, "looked")
    await here.work(relay.W1, 1)
    assert await here.event("b1") == "accepted"


async def test_no_route_is_judged_after_identity_door_and_capacity(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    assert word(await here.store.admit("other", "a1", {"delta": 10}, flow="a")) == "conflict"
    await here.store.set("capacity", 1, "small")
    assert word(await here.store.admit("nowhere", "x", 1)) == "full"
    await here.store.transition("drain", 0)
    assert word(await here.store.admit("nowhere", "x", 1)) == "closed"


async def test_a_later_wish_for_a_flows_width_is_ignored_and_the_answer_shows_what_holds(here: World) -> None:
    await here.define(RELAY)
    first = await here.store.admit("relay", "a1", 1, flow="a", width=3)
    second = await here.store.admit("relay", "a2", 1, flow="a", width=7)
    third = await here.store.admit("relay", "b1", 1, flow="b")
    assert [first.width, second.width, third.width] == [3, 3, None]


async def test_a_name_cannot_collide_with_an_anonymous_flow(here: World) -> None:
    await here.define(RELAY)
    await here.store.admit("relay", "x", 1)
    answers = [await here.store.admit("relay", name, 1, flow="x") for name in ("y", "z")]
    assert [answer.record.seq for answer in answers if answer.record] == [1, 2]
    assert (await here.job("x")).flow is None
    assert word(await here.store.admit("relay", "x", 1, flow="x")) == "conflict"


async def test_a_replay_of_a_done_job_without_a_flow_is_still_a_replay(here: World) -> None:
    await here.define(RELAY)
    await here.store.admit("relay", "x", 1)
    await here.work(relay.W1, 1)
    for name in "ab":
        await here.store.admit("relay", name, 1, flow=name)
    again = await here.store.admit("relay", "x", 1)
    assert word(again) == "replay"
    assert again.record is not None
    assert again.record.state == "done"

"""set: capacity, newcomers and a flow's width, by an audited act (contract §4, §5, §8)."""

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, word
from runtime.store import faults


async def test_each_setting_leaves_an_audit_row_that_shows_what_was_and_what_is(here: World) -> None:
    await here.store.set("capacity", 5, "small disk", actor="ann")
    await here.store.set("capacity", None, "large disk")
    later, first = await here.store.audit()
    assert (first.actor, first.verb, first.subject, first.reason) == ("ann", "set", "capacity", "small disk")
    assert (first.before, first.after) == ({"capacity": None}, {"capacity": 5})
    assert (later.before, later.after) == ({"capacity": 5}, {"capacity": None})


async def test_what_no_setting_can_be_is_an_error_and_changes_nothing(here: World) -> None:
    before = await here.photo()
    store = here.store
    errors = [
        await here.error(store.set("capacity", -1, "why")),
        await here.error(store.set("capacity", "5", "why")),
        await here.error(store.set("capacity", True, "why")),
        await here.error(store.set("newcomers", "last", "why")),
        await here.error(store.set("colour", 1, "why")),
        await here.error(store.set("width", 0, "why", flow="a")),
        await here.error(store.set("width", 1, "why")),
        await here.error(store.set("capacity", 1, "why", flow="a")),
        await here.error(store.set("capacity", 1, " ")),
        await here.error(store.set("capacity", 1, "why", actor="")),
    ]
    assert [error.partition(":")[0] for error in errors] == ["InvalidValue"] * len(errors)
    assert await here.photo() == before


async def test_lowering_a_limit_evicts_nobody(here: World) -> None:
    await here.define(RELAY)
    await here.events("a", 3)
    await here.store.set("capacity", 1, "small")
    assert await here.event("b1") == "full"
    assert await here.work(W1, 3) == ["a1", "a2", "a3"]


async def test_the_width_of_a_flow_that_does_not_exist_is_unknown(here: World) -> None:
    assert word(await here.store.set("width", 2, "why", flow="nobody")) == "unknown"


async def test_widening_lets_more_of_a_flow_be_claimed_and_lowering_stops_nobody(here: World) -> None:
    await here.define(RELAY)
    await here.events("a", 4)
    await here.take(W1)
    assert word(await here.store.set("width", 3, "independent", flow="a")) == "set"
    assert [claim.token.job for claim in (await here.store.claim(5, W1)).claims] == ["a2", "a3"]
    assert word(await here.store.set("width", 1, "one at a time", flow="a")) == "set"
    assert await here.name_of_next(W1) is None
    assert (await here.store.snapshot()).jobs["inflight"] == 3


async def test_becoming_ordered_is_refused_while_anything_but_the_head_is_not_ready(here: World) -> None:
    await here.define(RELAY)
    for number in range(1, 4):
        await here.store.admit("relay", f"a{number}", 1, flow="a", width=2)
    first, second = (await here.store.claim(2, W1)).claims
    refused = await here.store.set("width", None, "in order now", flow="a")
    assert (word(refused), bool(refused.cause)) == ("refused", True)
    await here.commit(first, W1)
    allowed = await here.store.set("width", None, "in order now", flow="a")
    assert word(allowed) == "set"
    assert await here.name_of_next(W1) is None
    await here.commit(second, W1)
    assert await here.name_of_next(W1) == "a3"


async def test_a_second_job_in_flight_behind_a_ready_head_keeps_a_flow_from_becoming_ordered(here: World) -> None:
    await here.define(RELAY)
    for number in range(1, 3):
        await here.store.admit("relay", f"a{number}", 1, flow="a", width=2)
    first, _ = (await here.store.claim(2, W1)).claims
    await here.store.release(first.token, "stopping")
    assert word(await here.store.set("width", None, "in order now", flow="a")) == "refused"


async def test_a_setting_sent_again_under_its_command_id_is_answered_again(here: World) -> None:
    first = await here.store.set("capacity", 5, "why", command_id="c1")
    await here.store.set("capacity", 9, "why")
    again = await here.store.set("capacity", 5, "why", command_id="c1")
    other = await here.store.set("capacity", 6, "why", command_id="c1")
    assert [word(answer) for answer in (first, again, other)] == ["set", "set", "conflict"]
    assert len(await here.store.audit()) == 2


async def test_a_setting_whose_audit_row_fails_is_not_set(here: World) -> None:
    before = await here.photo()
    faults.plant(str(here.queue), "keepstep_audit")
    assert faults.TEXT in await here.error(here.store.set("capacity", 1, "why"))
    faults.lift(str(here.queue))
    assert await here.photo() == before

"""claim: the fair order, blocked heads, newcomers, declared ability (contract §5)."""

from demos.scenarios import points, relay
from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, step
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Worker
from tests.conformance.conftest import Saw


async def test_r06_three_flows_take_turns_and_an_empty_claim_uses_no_ticket(saw: Saw) -> None:
    assert await saw(relay.r06) == {
        "order": ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"],
        "tickets": list(range(1, 10)),
        "served": [7, 8, 9],
        "ticket": 9,
    }


async def test_r07_one_event_behind_a_hundred_of_another_flow_comes_second(saw: Saw) -> None:
    seen = await saw(relay.r07)
    assert seen["order"] == ["a1", "b1", *(f"a{number}" for number in range(2, 101))]


async def test_r08_a_turn_that_fails_is_a_turn(saw: Saw) -> None:
    assert await saw(relay.r08) == {
        "claims": [["a1", 1], ["b1", 2], ["b2", 3], ["a1", 4]],
        "a1": [2, 2, 2],
        "served": [4, 3],
    }


async def test_r09_between_two_claims_of_a_flow_every_other_is_claimed_once_whatever_fails(saw: Saw) -> None:
    seen = await saw(relay.r09)
    assert seen["rounds"] == [list("abcde")] * 8


async def test_r10_choosing_by_name_starves_what_choosing_by_served_reaches_third(saw: Saw) -> None:
    assert await saw(relay.r10) == {
        "by name": ["a1", "a2", "a3", "b1", "b2", "b3", "z1"],
        "by served": ["a1", "b1", "z1", "a2", "b2", "a3", "b3"],
        "z by name, a refilled": False,
        "z by served, a refilled": 3,
    }


async def test_r11_under_newcomers_first_an_old_flow_starves(saw: Saw) -> None:
    seen = await saw(relay.r11)
    assert seen["order"] == ["old1", *(f"n{number}" for number in range(1, 21))]
    assert seen["when they stop"] == ["n21", "old2"]


async def test_r12_by_default_newcomers_join_behind_those_who_wait(saw: Saw) -> None:
    wanted = "old1 old2 n1 old3 n2 n3 old4 n4 n5 n6 old5 n7 n8 n9 n10 old6 n11 n12 n13 n14 n15 old7 n16 n17"
    assert (await saw(relay.r12))["order"] == wanted.split()


async def test_r13_a_head_in_flight_blocks_its_own_flow_only(saw: Saw) -> None:
    assert await saw(relay.r13) == {"claims": ["a1", "b1", None]}


async def test_r14_a_head_that_backs_off_blocks_its_own_flow_until_it_is_due(saw: Saw) -> None:
    assert await saw(relay.r14) == {"claims": ["b1", None, "a1"]}


async def test_an_event_admitted_behind_a_head_in_flight_or_waiting_is_not_claimed(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.event("b1")
    await here.take(W1, 0)
    await here.fail(await here.take(W1, 0))
    await here.event("a2")
    await here.event("b2")
    assert await here.name_of_next(W1, 0) is None


async def test_r15_a_quarantined_head_blocks_its_own_flow_until_a_person_acts(saw: Saw) -> None:
    assert await saw(relay.r15) == {
        "others": ["b1", "b2", "b3", None],
        "@1000": None,
        "after redrive": ["a1", "a2", None],
    }


async def test_r16_a_head_that_is_done_makes_room_at_once(saw: Saw) -> None:
    assert await saw(relay.r16) == {"claims": ["a1", "a2"]}


async def test_v11_a_worker_gets_what_it_declares_and_nothing_else(saw: Saw) -> None:
    assert await saw(points.v11) == {"nothing declared": None, "V2 only": ["new", None]}


async def test_v11_flows_of_what_a_worker_does_not_declare_are_skipped(here: World) -> None:
    await points.define(here)
    await here.store.admit("points", "old", {"units": 10}, flow="a")
    await here.store.switch(points.D2, 1)
    await here.store.admit("points", "new", {"units": 10}, flow="b")
    assert [await here.name_of_next(points.ONLY_V2) for _ in range(2)] == ["new", None]


async def test_claiming_many_equals_that_many_claims_in_a_row(here: World) -> None:
    await here.define(RELAY)
    for flow in "abc":
        await here.events(flow, 2)
    claims = (await here.store.claim(10, W1)).claims
    assert [(claim.token.job, claim.ticket) for claim in claims] == [("a1", 1), ("b1", 2), ("c1", 3)]


async def test_a_free_flow_hands_out_up_to_its_width_in_sequence(here: World) -> None:
    await here.define(RELAY)
    for number in range(1, 6):
        await here.store.admit("relay", f"a{number}", 1, flow="a", width=2)
    await here.event("b1")
    claims = (await here.store.claim(10, W1)).claims
    assert [claim.token.job for claim in claims] == ["a1", "b1", "a2"]
    await here.commit(claims[0], W1)
    assert await here.name_of_next(W1) == "a3"
    assert await here.name_of_next(W1) is None


async def test_in_a_free_flow_quarantined_and_waiting_jobs_block_nothing(here: World) -> None:
    await here.define(RELAY)
    for number in range(1, 4):
        await here.store.admit("relay", f"a{number}", 1, flow="a", width=1)
    await here.store.quarantine((await here.take(W1, 0)).token, "unsure")
    await here.fail(await here.take(W1, 0))
    assert await here.name_of_next(W1, 0) == "a3"


async def test_a_free_flow_waits_for_a_worker_that_declares_its_next_ready_job(here: World) -> None:
    other = Manifest("other", "relay/1", (step("deliver", "deliver"),))
    await here.define(RELAY)
    await here.define(other)
    await here.store.admit("other", "a1", 1, flow="a", width=4)
    await here.store.admit("relay", "a2", 1, flow="a")
    assert await here.name_of_next(W1) is None
    both = Worker.declaring("both", RELAY, other)
    assert [claim.token.job for claim in (await here.store.claim(5, both)).claims] == ["a1", "a2"]


async def test_of_a_free_flow_no_job_is_claimed_past_one_that_the_worker_does_not_declare(here: World) -> None:
    other = Manifest("other", "relay/1", (step("deliver", "deliver"),))
    await here.define(RELAY)
    await here.define(other)
    for name, workflow in (("a1", "relay"), ("a2", "relay"), ("a3", "other"), ("a4", "relay")):
        await here.store.admit(workflow, name, 1, flow="a", width=4)
    assert [claim.token.job for claim in (await here.store.claim(5, W1)).claims] == ["a1", "a2"]


async def come_back(here: World) -> None:
    """Flow a, younger than b, has nothing unfinished while b is served; then it comes back, and c is new."""
    await here.define(RELAY)
    await here.events("b", 4)
    await here.event("a1")
    assert await here.work(W1, 3) == ["b1", "a1", "b2"]
    await here.event("a2")
    await here.event("c1")


async def test_a_flow_that_comes_back_from_nothing_unfinished_joins_behind(here: World) -> None:
    await come_back(here)
    assert await here.work(W1, 3) == ["b3", "a2", "c1"]


async def test_under_newcomers_first_a_flow_that_comes_back_keeps_its_last_ticket(here: World) -> None:
    await here.store.set("newcomers", "first", "the documents' rule")
    await come_back(here)
    assert await here.work(W1, 3) == ["c1", "a2", "b3"]


async def test_a_committed_step_sends_its_flow_to_the_back(here: World) -> None:
    two = Manifest("two", "relay/1", (step("first", "deliver"), step("second", "deliver")))
    worker = Worker.declaring("w1", two)
    await here.define(two)
    for flow in "ab":
        await here.store.admit("two", f"{flow}1", 1, flow=flow)
    assert await here.work(worker, 5) == ["a1", "b1", "a1", "b1", None]


async def test_an_empty_claim_says_when_the_clock_next_acts(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.fail(await here.take(W1, 0))
    claims = await here.store.claim(1, W1, now=1)
    assert (claims.claims, claims.next_due, claims.mode) == ((), 2, "open")


async def test_a_claim_carries_what_a_worker_needs(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1", now=3)
    claim = await here.take(W1, 4)
    assert claim.payload == '{"delta":10}'
    assert (claim.workflow, claim.flow, claim.seq, claim.attempt, claim.lifetime_attempts) == ("relay", "a", 1, 1, 1)
    assert (claim.claimed_at, claim.lease_until, claim.ticket) == (4, 9, 1)
    assert claim.token == type(claim.token)("a1", 0, 1, 0, RELAY.digest)

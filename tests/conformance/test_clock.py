"""The logical clock: it never goes back, and every answered write moves it (contract §7)."""

from demos.scenarios import delivery
from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World
from tests.conformance.conftest import Saw


async def test_r28_every_write_verb_refuses_an_earlier_tick_and_changes_nothing(saw: Saw) -> None:
    seen = await saw(delivery.r28)
    assert len(seen["errors"]) == 15
    for verb, error in seen["errors"].items():
        assert error.startswith("ClockBackwards: tick 8 is before the stored tick 9"), verb
    assert seen["unchanged"]


async def test_r29_a_refused_callback_moves_the_tick(saw: Saw) -> None:
    seen = await saw(delivery.r29)
    assert seen["late"] == "stale"
    assert seen["@8"].startswith("ClockBackwards: ")
    assert seen["@9"] == "accepted"


async def test_the_same_tick_is_allowed_and_none_means_the_stored_one(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1", now=7)
    await here.event("a2", now=7)
    await here.event("a3")
    claim = await here.take(W1)
    assert claim.claimed_at == 7
    assert await here.fields("a3", "admitted_at") == [7]

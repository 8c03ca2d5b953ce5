"""Fairness of turns: a flood in one flow, newcomers under both settings, and the wrong choice as a contrast."""

from pathlib import Path

from demos.scenarios.relay import W1, choose, newcomers
from demos.scenarios.world import RELAY, World, world
from demos.story import Teller, run_alone

FLOOD = 100
EVENTS = {"a": 3, "b": 3, "z": 1}


async def tell(teller: Teller, folder: Path) -> None:
    """The whole demo."""
    teller.title("fair: every flow has its turn")
    for name, part in (("flood", _flood), ("blocked", _blocked), ("behind", _behind), ("first", _first)):
        (folder / name).mkdir()
        async with world(folder / name) as here:
            await part(teller, here)
    _contrast(teller)


async def _flood(teller: Teller, here: World) -> None:
    teller.say(f"Flow 'a' is flooded with {FLOOD} events. After them one event comes for flow 'b'. Who waits?")
    await here.define(RELAY)
    await here.events("a", FLOOD)
    await here.events("b", 1)
    order = await here.work(W1, 6)
    teller.saw("the first six claims", order)
    teller.say(
        "Among flows that can be claimed, the one whose last ticket is the smallest goes next; each claim takes the "
        "next ticket. So 'b' waits for one event of the flood, not for a hundred."
    )


async def _blocked(teller: Teller, here: World) -> None:
    teller.say("An ordered flow's head blocks its own flow and no other: here a1 fails and waits for two ticks.")
    await here.define(RELAY)
    await here.events("a", 2)
    await here.events("b", 2)
    claim = await here.take(W1, 0)
    teller.saw("a1 fails at tick 0", await here.fail(claim, now=0))
    teller.saw("claims at tick 0", [job or "nothing" for job in await here.work(W1, 3, now=0)])
    teller.saw("claims at tick 2", await here.work(W1, 2, now=2))


async def _behind(teller: Teller, here: World) -> None:
    teller.say(
        "Newcomers. Flow 'old' has twelve events; after every claim a new flow with one event appears. By default "
        "a newcomer joins behind those who wait, so the old flow keeps coming back:"
    )
    teller.saw("24 claims, newcomers behind", await newcomers(here, 24))


async def _first(teller: Teller, here: World) -> None:
    teller.say("With the setting 'newcomers first' every new flow passes it, and it starves for as long as they come:")
    await here.store.set("newcomers", "first", "the rule that starves")
    order = await newcomers(here, 24)
    teller.saw("24 claims, newcomers first", order)
    teller.saw("how often 'old' was served", sum(str(name).startswith("old") for name in order))


def _contrast(teller: Teller) -> None:
    teller.say("The wrong choice, computed from the same input: three events in a, three in b, one in z.")
    by_name, by_served = choose(EVENTS, by_name=True), choose(EVENTS, by_name=False)
    teller.saw("always the smallest name", by_name)
    teller.saw("the smallest last ticket", by_served)
    teller.saw("z's place", f"{by_name.index('z1') + 1} by name, {by_served.index('z1') + 1} by ticket")
    refilled = EVENTS | {"a": 1_000}
    never = "z1" not in choose(refilled, by_name=True)[:100]
    place = choose(refilled, by_name=False).index("z1") + 1
    teller.saw("with a refilled for ever", f"{'never' if never else 'at last'} by name, still {place} by ticket")


if __name__ == "__main__":
    run_alone(tell)

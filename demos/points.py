"""Why a job is pinned to its definition: 11, 13, and the wrong 20."""

from pathlib import Path

from demos.scenarios.points import D1, D2, ONLY_V1, ONLY_V2, UNITS, V1, V2, admit, credit, define, run_until_idle, total
from demos.scenarios.world import World, word, world
from demos.story import Teller, run_alone
from runtime.protocol.manifest import Manifest

UNITS_OF_ALL = 10


async def tell(teller: Teller, folder: Path) -> None:
    """The whole demo."""
    teller.title("points: a job keeps the definition it was accepted under")
    _compute(teller)
    async with world(folder) as here:
        await _switch(teller, here)
        await _without_v1(teller, here)
        await _bring_back(teller, here)


def _compute(teller: Teller) -> None:
    v1 = [credit(UNITS_OF_ALL, V1, index) for index in range(2)]
    v2 = [credit(UNITS_OF_ALL, V2, index) for index in range(2)]
    teller.say("Two definitions of the workflow 'points', each a list of two steps. A job has 10 units.")
    teller.saw("V1: " + _listed(V1), f"{v1[0]} + {v1[1]} = {sum(v1)}")
    teller.saw("V2: " + _listed(V2), f"{v2[0]} + {v2[1]} = {sum(v2)}")
    teller.say(
        "A job that has done V1's first step stands at cursor 1. If it went on at cursor 1 of V2's list, because a new "
        "version was deployed in between, it would add the base twice and never see a bonus:"
    )
    teller.saw("V1's step 1, then V2's step 2", f"{v1[0]} + {v2[1]} = {v1[0] + v2[1]}, which is neither: wrong")


async def _switch(teller: Teller, here: World) -> None:
    teller.say("In a store this cannot happen. V1 is current, and the job 'old' is accepted and does its first step.")
    await define(here)
    teller.saw("admit 'old', 10 units", word(await admit(here, "old", UNITS)))
    claim = await here.take(ONLY_V1)
    teller.saw("a worker that declares V1 does step 'base'", await here.commit(claim, ONLY_V1, credit(10, V1, 0)))
    answer = await here.store.switch(D2, 1)
    teller.saw("switch: new jobs go to V2 now", f"{word(answer)}, route revision {answer.revision}")
    teller.saw("admit 'new', 10 units", word(await admit(here, "new", UNITS)))


async def _without_v1(teller: Teller, here: World) -> None:
    teller.say("Suppose that only workers with the new code are left: they declare V2 and nothing else.")
    for job, step, value, said in await run_until_idle(here, ONLY_V2):
        teller.saw(f"V2's worker: job {job!r}, step {step!r}, value {value}", said)
    teller.saw("'new' adds up to", await total(here, "new"))
    unfinished = (await here.store.snapshot()).unfinished_by_definition
    for digest, count in unfinished.items():
        if count and digest not in ONLY_V2.manifests:
            teller.saw(
                "what is left",
                f"{count} unfinished job of {_named(digest)} ({digest[:12]}…), which no worker here declares: "
                f"it is not downgraded, it waits",
            )


async def _bring_back(teller: Teller, here: World) -> None:
    teller.say("Bring a worker that declares V1 back, and the job goes on under its own list, where it stood.")
    for job, step, value, said in await run_until_idle(here, ONLY_V1):
        teller.saw(f"V1's worker: job {job!r}, step {step!r}, value {value}", said)
    teller.saw("'old' adds up to", await total(here, "old"))
    effects = [f"{name} {value} (of {_named(digest)})" for _, name, digest, value in await here.effects("old")]
    teller.saw("its effects, each with the digest it was made under", effects)


def _listed(manifest: Manifest) -> str:
    words = {"per_unit": "{} per unit", "flat": "{} flat"}
    steps = []
    for step in manifest.steps:
        steps.append(step.name + " " + ", ".join(words[name].format(value) for name, value in step.params.items()))
    return "; ".join(steps)


def _named(digest: str) -> str:
    return {D1: "V1", D2: "V2"}[digest]


if __name__ == "__main__":
    run_alone(tell)

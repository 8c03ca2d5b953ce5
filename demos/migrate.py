"""Changing a job's definition by a person's word, where that is allowed, and its audit chain."""

from pathlib import Path

from demos.scenarios.points import BOTH, D1, D2, ONLY_V1, UNITS, V1, admit, credit, define, run_until_idle, total
from demos.scenarios.world import World, word, world
from demos.story import Teller, run_alone
from runtime.protocol.records import Answer, Token

REASON = "V1's bonus was announced wrongly"


async def tell(teller: Teller, folder: Path) -> None:
    """The whole demo."""
    teller.title("migrate: a job changes its definition only by a person's word")
    async with world(folder) as here:
        await define(here)
        await here.store.switch(D2, 1)
        await here.store.switch(D1, 2)
        for name in ("untouched", "begun"):
            await admit(here, name, UNITS)
        await _refused(teller, here)
        await _migrated(teller, here)
        await _chain(teller, here)


async def _refused(teller: Teller, here: World) -> None:
    teller.say("Two jobs of V1. 'begun' has its first step committed; 'untouched' is in flight at the moment.")
    claims = [await here.take(ONLY_V1) for _ in range(2)]
    by_name = {claim.token.job: claim for claim in claims}
    teller.saw("'begun' does step 'base'", await here.commit(by_name["begun"], ONLY_V1, credit(10, V1, 0)))
    for name in ("begun", "untouched"):
        teller.saw(f"migrate {name!r} to V2", await _migrate(here, name))
    teller.say(
        "Refused: an effect under V1's list is no beginning of V2's, and a worker is at 'untouched'. A "
        "person who knows that it is gone recovers the job."
    )
    answer = await here.store.recover("untouched", 1, "its worker was switched off", actor="operator")
    teller.saw("recover 'untouched', seen generation 1", word(answer))


async def _migrated(teller: Teller, here: World) -> None:
    teller.say(
        "Now it is ready and no step is committed. It was claimed once under 'hold', though: cursor 0 does not prove "
        "that nothing happened outside. So whoever migrates must say that this was looked at."
    )
    teller.saw("migrate 'untouched' to V2", await _migrate(here, "untouched"))
    teller.saw("the same, effects checked", await _migrate(here, "untouched", effects_checked=True))
    teller.saw("once more with the old binding revision", await _migrate(here, "untouched", effects_checked=True))
    teller.saw("the lost worker commits after all", await here.commit(Token("untouched", 0, 1, 0, D1), BOTH, 10))
    for job, step, value, said in await run_until_idle(here, BOTH):
        teller.saw(f"job {job!r}, step {step!r}, value {value}", said)
    teller.saw("'begun' under V1, 'untouched' under V2", [await total(here, "begun"), await total(here, "untouched")])


async def _chain(teller: Teller, here: World) -> None:
    teller.say("What stays on record, as a chain from the accepted definition to the present one:")
    for row in await here.store.audit(job="untouched"):
        teller.saw(f"{row.verb} by {row.actor}", row.reason)
    record = await here.job("untouched")
    teller.saw("accepted as, is now", [_named(record.accepted_digest), _named(record.current_digest)])
    teller.saw("binding revision, the number of migrations", record.binding_revision)


async def _migrate(here: World, name: str, *, effects_checked: bool = False) -> str:
    answer = await here.store.migrate(name, 0, D2, REASON, effects_checked=effects_checked, actor="operator")
    return _said(answer)


def _said(answer: Answer) -> str:
    return f"{word(answer)}: {answer.cause}" if answer.cause else word(answer)


def _named(digest: str) -> str:
    return {D1: "V1", D2: "V2"}[digest]


if __name__ == "__main__":
    run_alone(tell)

"""Document 15, versioned definitions: migration, recovery, a damaged registry."""

from demos.scenarios.points import BOTH, D1, D2, ONLY_V1, V1, V2, admit, define, points, run_step, run_until_idle, total
from demos.scenarios.world import Facts, World, word
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Answer, Claim, Commit, Token, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store import faults


async def v15(here: World) -> Facts:
    """Migration: the current definition changes, the promise's own marks do not."""
    await define(here)
    await admit(here, "old")
    before = await here.job("old")
    answer = await here.store.migrate("old", 0, D2, "agreed", actor="ann")
    after = await here.job("old")
    audits = await here.audits("old")
    steps = await run_until_idle(here, BOTH)
    return {
        "word": word(answer),
        "digests": [after.accepted_digest == D1, after.current_digest == D2],
        "rises": [after.binding_revision - before.binding_revision, after.generation - before.generation],
        "same": [after.seq == before.seq, after.workflow == before.workflow],
        "audits": audits,
        "steps": steps,
        "effects on V2": [digest == D2 for _, _, digest, _ in await here.effects("old")],
        "total": await total(here, "old"),
    }


async def v16(here: World) -> Facts:
    """What migrate refuses, each with its cause; an old binding revision is stale before anything is refused."""
    await define(here)
    other = Manifest("ledger", "local-ledger/1", V1.steps)
    await here.store.register(other)
    for name in ("done", "quarantined", "begun", "flight"):
        await admit(here, name)
    for _ in range(2):
        await run_step(here, BOTH, await only(here, "done"))
    await here.store.quarantine((await only(here, "quarantined")).token, "unsure")
    await run_step(here, BOTH, await only(here, "begun"))
    await only(here, "flight")
    await admit(here, "ready")
    before = await here.photo()
    store = here.store
    answers = {
        name: await store.migrate(name, 0, D2, "agreed", effects_checked=True)
        for name in ("flight", "begun", "done", "quarantined")
    }
    answers["unregistered"] = await store.migrate("ready", 0, "0" * 64, "agreed")
    answers["other workflow"] = await store.migrate("ready", 0, other.digest, "agreed")
    answers["already bound"] = await store.migrate("ready", 0, D1, "agreed")
    blank = [await here.error(store.migrate("ready", 0, D2, text)) for text in ("", " \n")]
    stale = [word(await store.migrate(name, 1, D2, "agreed")) for name in ("ready", "flight")]
    return {
        "refused": {name: [word(answer), answer.cause] for name, answer in answers.items()},
        "blank": blank,
        "old revision": stale,
        "unchanged": await here.photo() == before,
    }


async def only(here: World, name: str) -> Claim:
    """The claim of that job; the others are handed back."""
    claims = (await here.store.claim(100, BOTH)).claims
    for claim in claims:
        if claim.token.job != name:
            await here.store.release(claim.token, "another job is wanted")
    (found,) = [claim for claim in claims if claim.token.job == name]
    return found


async def v17(here: World) -> Facts:
    """A migrated job's admission is still a replay, and binds nothing; the audit chain has no gap."""
    await define(here)
    await admit(here, "old")
    seen = []
    for revision, target in enumerate((D2, D1)):
        await here.store.migrate("old", revision, target, "agreed")
        answer = await admit(here, "old")
        assert answer.record is not None, "a replay carries the record"
        seen.append([word(answer), answer.record.current_digest == target, answer.record.binding_revision])
    return {"replays": seen, "chain": [[row["before"], row["after"]] for row in await here.audits("old")]}


async def lost(here: World, first: Manifest, second: Manifest) -> Token:
    """A job of `first` whose worker died before any step was committed; `second` is registered too."""
    await here.define(first, second)
    await admit(here, "old")
    return (await here.take(Worker.declaring("dead", first), 0)).token


async def v18(here: World) -> Facts:
    """Claimed, lost, recovered under hold: cursor 0 is no proof, so migrate needs a word."""
    dead = await lost(here, V1, V2)
    await here.store.recover("old", 1, "the machine is gone")
    refused = await here.store.migrate("old", 0, D2, "agreed")
    checked = await here.store.migrate("old", 0, D2, "agreed", effects_checked=True)
    late = await here.commit(dead, ONLY_V1, 10)
    audits = await here.audits("old")
    await run_until_idle(here, BOTH)
    return {
        "refused": [word(refused), refused.cause],
        "checked": word(checked),
        "late": late,
        "audits": audits,
        "total": await total(here, "old"),
    }


async def v18_retry(here: World) -> Facts:
    """Under retry it is migrated at once."""
    first, second = points(OnLapse.RETRY)
    dead = await lost(here, first, second)
    await here.store.recover("old", 1, "the machine is gone")
    answer = await here.store.migrate("old", 0, second.digest, "agreed")
    late = await here.commit(dead, Worker.declaring("dead", first), 10)
    await run_until_idle(here, Worker.declaring("both", first, second))
    return {"word": word(answer), "late": late, "total": await total(here, "old")}


async def v19(here: World) -> Facts:
    """A lost reply of migrate."""
    await define(here)
    await admit(here, "old")
    store = here.store
    first = await store.migrate("old", 0, D2, "agreed", command_id="c1")
    bare = await store.migrate("old", 0, D2, "agreed")
    again = await store.migrate("old", 0, D2, "agreed", command_id="c1")
    other = await store.migrate("old", 1, D1, "agreed", command_id="c1")
    return {
        "words": [word(answer) for answer in (first, bare, again, other)],
        "audits": len(await here.audits("old")),
        "old": [(await here.job("old")).current_digest == D2, *await here.fields("old", "binding_revision")],
    }


async def v20(here: World) -> Facts:
    """Under hold only recover moves a dead worker's job, and only once."""
    await lost(here, V1, V2)
    later = await here.name_of_next(BOTH, 1_000_000)
    held = await here.fields("old", "state", "generation")
    store = here.store
    found = [word(await store.recover("old", 2, "gone"))]
    live = await store.recover("old", 1, "gone")
    state = await here.fields("old", "state", "generation", "attempts")
    found += [word(live), word(await store.recover("old", 1, "gone")), word(await store.recover("old", 2, "gone"))]
    return {"@1000000": later, "held": held, "words": found, "old": state, "live lease": live.live_lease}


async def v21(here: World) -> Facts:
    """Recovered at cursor 1, with new jobs on V2, a V1 job goes on with V1."""
    await define(here)
    await admit(here, "old")
    await run_step(here, BOTH)
    await here.take(BOTH, 0)
    await here.store.switch(D2, 1)
    await here.store.recover("old", 2, "the machine is gone")
    steps = await run_until_idle(here, BOTH)
    return {"steps": steps, "total": await total(here, "old"), "effects": len(await here.effects("old"))}


async def v22(here: World) -> Facts:
    """A definition edited by hand stops its jobs before any effect, and no other's."""
    await define(here)
    await admit(here, "old")
    await here.store.switch(D2, 1)
    await admit(here, "new")
    claims = (await here.store.claim(2, BOTH)).claims
    faults.damage(str(here.queue), D1, '"per_unit":1', '"per_unit":2')
    before = await here.fields("old", "state", "cursor")
    answers = await here.store.commit_step_many([Commit(claim.token, 3, BOTH) for claim in claims])
    return {
        "answers": [word(answer) if isinstance(answer, Answer) else type(answer).__name__ for answer in answers],
        "old": [before == await here.fields("old", "state", "cursor"), await here.effects("old")],
        "register": (await here.error(here.store.register(V1))).partition(":")[0],
    }

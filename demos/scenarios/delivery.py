"""Document 12, fair relay, second half: the clock, the receiver, redrive, rollback."""

from collections.abc import Awaitable

from demos.scenarios.relay import W1, W2, exhaust
from demos.scenarios.world import RELAY, Facts, World, word
from runtime.protocol.records import Claim, Token
from runtime.store import faults
from runtime.store.inbox import Inbox
from runtime.store.store import Store


async def r05(here: World) -> Facts:
    """Opening both files a second time, with work in them, changes nothing."""
    await here.define(RELAY)
    await here.events("a", 2)
    await here.deliver(W1)
    before = await here.photo()
    async with await Store.open(here.queue, clock="logical", store_id="another"):
        pass
    async with await Inbox.open(here.receiver, max_delta=1):
        pass
    return {"unchanged": await here.photo() == before}


async def r28(here: World) -> Facts:
    """Every write verb refuses a tick before the stored one, and leaves everything as it was."""
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1, 9)
    before = await here.tables()
    errors = {name: await here.error(call) for name, call in backwards(here, claim).items()}
    return {"errors": errors, "unchanged": await here.tables() == before}


def backwards(here: World, claim: Claim) -> dict[str, Awaitable[object]]:
    """Every write verb, asked at tick 8."""
    store, token, digest = here.store, claim.token, RELAY.digest
    return {
        "admit": store.admit("relay", "a2", {"delta": 1}, flow="a", now=8),
        "claim": store.claim(1, W1, now=8),
        "commit_step": store.commit_step(token, None, worker=W1, now=8),
        "fail": store.fail(token, "why", now=8),
        "renew": store.renew(token, now=8),
        "release": store.release(token, "why", now=8),
        "quarantine": store.quarantine(token, "why", now=8),
        "redrive": store.redrive("a1", 1, "why", now=8),
        "recover": store.recover("a1", 1, "why", now=8),
        "migrate": store.migrate("a1", 0, digest, "why", now=8),
        "switch": store.switch(digest, 1, now=8),
        "transition": store.transition("drain", 0, now=8),
        "register": store.register(RELAY, now=8),
        "quarantine_job": store.quarantine_job("a1", 1, "why", now=8),
        "set": store.set("capacity", 1, "why", now=8),
    }


async def r29(here: World) -> Facts:
    """A refused callback moves the tick too."""
    await here.define(RELAY)
    await here.event("a1", now=4)
    late = await here.commit(Token("a1", 0, 1, 0, RELAY.digest), W1, now=9)
    early = await here.error(here.event("a2", now=8))
    return {"late": late, "@8": early, "@9": await here.event("a2", now=9)}


async def r30(here: World) -> Facts:
    """In turn: accepted, and added up."""
    found = [
        await here.inbox.receive("a1", "a", 1, {"delta": 10}),
        await here.inbox.receive("a2", "a", 2, {"delta": 5}),
    ]
    return {"words": [str(receipt.verdict) for receipt in found], "totals": await here.inbox.totals()}


async def r31(here: World) -> Facts:
    """Again: a duplicate, added up once."""
    await r30(here)
    again = await here.inbox.receive("a1", "a", 1, {"delta": 10})
    return {"word": str(again.verdict), "totals": await here.inbox.totals()}


async def r32(here: World) -> Facts:
    """Another body under an id, or another id at a number: a conflict, now and later; the first stands."""
    await r30(here)
    other_body = await here.inbox.receive("a1", "a", 1, {"delta": 11})
    other_id = [await here.inbox.receive("x", "a", 1, {"delta": 10}) for _ in range(2)]
    await here.define(RELAY)
    await here.event("a1", 11)
    delivered = [await here.deliver(W1)]
    await here.store.redrive("a1", 1, "once more")
    delivered.append(await here.deliver(W1))
    return {
        "other body": str(other_body.verdict),
        "other id": [str(receipt.verdict) for receipt in other_id],
        "totals": await here.inbox.totals(),
        "delivered": delivered,
        "a1": await here.fields("a1", "state", "reason"),
    }


async def r33(here: World) -> Facts:
    """Out of turn: a gap, nothing is kept or skipped; each flow counts for itself."""
    await r30(here)

    async def ask(flow: str, seq: int) -> str:
        return str((await here.inbox.receive(f"{flow}{seq}", flow, seq, {"delta": 1})).verdict)

    found = [await ask("a", 4), await ask("b", 1), await ask("a", 3), await ask("a", 4)]
    await here.define(RELAY)
    await here.event("c1")
    await here.event("c2")
    await here.commit(await here.take(W1, 0), W1)
    met = await here.deliver(W1, 0)
    return {
        "words": found,
        "totals": await here.inbox.totals(),
        "met": met,
        "c2": await here.fields("c2", "state", "due", "attempts"),
    }


async def r34(here: World) -> Facts:
    """The receiver's answer is lost with its worker: the next delivery is a duplicate, the delta counts once."""
    await here.define(RELAY)
    await here.event("a1")
    lost = await here.send(await here.take(W1, 0))
    second = await here.take(W2, 6)
    again = await here.send(second)
    return {
        "lost": str(lost.verdict),
        "attempts": await here.fields("a1", "attempts"),
        "again": [str(again.verdict), await here.finish(second, again, W2)],
        "totals": await here.inbox.totals(),
        "lifetime attempts": await here.fields("a1", "lifetime_attempts"),
        "receipts": len((await here.inbox.dump())["inbox_receipt"]),
        "effects": len(await here.effects("a1")),
    }


async def r35(here: World) -> Facts:
    """An unavailable receiver is not changed; the job waits and goes on."""
    await here.define(RELAY)
    await here.event("a1")
    here.relay.unavailable = True
    first = await here.deliver(W1, 0)
    waits = await here.fields("a1", "state", "due", "attempts")
    untouched = await here.inbox.totals()
    here.relay.unavailable = False
    second = await here.deliver(W1, 2)
    return {
        "unavailable": first,
        "waits": waits,
        "totals then": untouched,
        "available": second,
        "a1": await here.fields("a1", "lifetime_attempts"),
    }


async def unsupported(here: World) -> list[list[str] | None]:
    """A receiver that takes 100 is sent 150, then asked for what else there is."""
    await here.define(RELAY)
    await here.inbox.set_max_delta(100)
    await here.event("a1", 150)
    await here.event("a2", 10)
    await here.event("b1", 10)
    return [await here.deliver(W1, 0) for _ in range(3)]


async def r36(here: World) -> Facts:
    """Beyond the capability: quarantined at once; raised and redriven, the same message is applied once."""
    delivered = await unsupported(here)
    a1 = await here.fields("a1", "state", "attempts")
    before = await here.inbox.totals()
    await here.inbox.set_max_delta(1_000)
    redriven = await here.store.redrive("a1", 1, "the receiver takes 1000 now")
    return {
        "delivered": delivered,
        "a1": a1,
        "totals": before,
        "redriven": word(redriven),
        "then": [await here.deliver(W1, 0) for _ in range(3)],
        "totals then": await here.inbox.totals(),
    }


async def r37(here: World) -> Facts:
    """Redriven without raising the capability it is quarantined again."""
    await unsupported(here)
    await here.store.redrive("a1", 1, "hope")
    again = await here.deliver(W1, 0)
    return {
        "again": again,
        "history": [row[0] for row in await here.history("a1")],
        "audits": len(await here.audits("a1")),
        "a1": await here.fields("a1", "state", "lifetime_attempts"),
    }


async def exhausted(here: World) -> None:
    """a1 with its budget of three spent."""
    await here.define(RELAY)
    await here.event("a1")
    await exhaust(here, "a1")


async def r38(here: World) -> Facts:
    """Redrive: ready at once, a new generation, a new budget; everything else as it was; one audit row."""
    await exhausted(here)
    before = await here.job("a1")
    answer = await here.store.redrive("a1", 3, "receiver repaired", actor="ann")
    fields = ("state", "due", "generation", "attempts", "lifetime_attempts", "reason", "id", "seq")
    return {
        "word": word(answer),
        "reason before": before.reason,
        "a1": await here.fields("a1", *fields),
        "audits": await here.audits("a1"),
        "next": await here.name_of_next(W1, 6),
    }


async def r39(here: World) -> Facts:
    """What a redrive does not do, and which word says so."""
    await exhausted(here)
    await here.event("b1")
    await here.event("c1")
    await here.work(W1, 1)
    await here.take(W1)
    await here.event("d1")
    await here.store.redrive("a1", 3, "receiver repaired")
    before = await here.photo()
    store = here.store
    old = [word(await store.redrive("a1", generation, "again")) for generation in (3, 5)]
    states = {name: (await here.job(name)) for name in ("a1", "b1", "c1", "d1")}
    refused = {}
    for name, record in states.items():
        answer = await store.redrive(name, record.generation, "again")
        refused[f"{name} {record.state}"] = [word(answer), bool(answer.cause)]
    blank = [await here.error(store.redrive("a1", 4, text)) for text in ("", "  ")]
    return {"old": old, "present": refused, "blank": blank, "unchanged": await here.photo() == before}


async def r40(here: World) -> Facts:
    """Three is a round's budget, not a lifetime's."""
    await exhausted(here)
    await here.store.redrive("a1", 3, "receiver repaired")
    found = await exhaust(here, "a1", (6, 8, 12))
    state = await here.fields("a1", "state", "attempts", "lifetime_attempts", "generation")
    return {"words": found, "a1": state, "again": word(await here.store.redrive("a1", 7, "repaired again"))}


async def r41(here: World) -> Facts:
    """After a redrive the identity is known as before."""
    await exhausted(here)
    await here.store.redrive("a1", 3, "receiver repaired")
    return {"same": await here.event("a1"), "other": await here.event("a1", 11)}


async def r42(here: World) -> Facts:
    """An admission whose second write fails leaves nothing, and uses no number."""
    await here.define(RELAY)
    await here.events("a", 2)
    await here.events("b", 1)
    seen = []
    for table, event in (("keepstep_job", "insert"), ("keepstep_tally", "update"), ("keepstep_flow", "update")):
        before = await here.tables()
        faults.plant(str(here.queue), table, event)
        error = await here.error(here.event("a3"))
        faults.lift(str(here.queue))
        seen.append([f"{table} {event}", faults.TEXT in error, await here.tables() == before])
    await here.event("a3")
    return {"faults": seen, "a3": await here.fields("a3", "seq")}


async def r43(here: World) -> Facts:
    """A delivery whose effect fails leaves no receipt."""
    await here.inbox.receive("a1", "a", 1, {"delta": 10})
    before = await here.inbox.dump()
    faults.plant(str(here.receiver), "inbox_flow", "update")
    error = await here.error(here.inbox.receive("a2", "a", 2, {"delta": 5}))
    faults.lift(str(here.receiver))
    unchanged = await here.inbox.dump() == before
    then = await here.inbox.receive("a2", "a", 2, {"delta": 5})
    return {
        "fault": faults.TEXT in error,
        "unchanged": unchanged,
        "then": str(then.verdict),
        "totals": await here.inbox.totals(),
    }


async def r44(here: World) -> Facts:
    """A redrive whose audit row fails leaves the job quarantined."""
    await exhausted(here)
    before = await here.tables()
    faults.plant(str(here.queue), "keepstep_audit")
    error = await here.error(here.store.redrive("a1", 3, "receiver repaired"))
    faults.lift(str(here.queue))
    unchanged = await here.tables() == before
    then = word(await here.store.redrive("a1", 3, "receiver repaired"))
    return {"fault": faults.TEXT in error, "unchanged": unchanged, "then": then}

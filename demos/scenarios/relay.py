"""Document 12, fair relay: its scenarios one by one. Each returns what it saw as plain data."""

from demos.scenarios.world import RELAY, Facts, World, step, word
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Worker
from runtime.protocol.retry import backoff

W1 = Worker.declaring("w1", RELAY)
W2 = Worker.declaring("w2", RELAY)


async def r01(here: World) -> Facts:
    """Numbers are counted for each flow, from 1."""
    await here.define(RELAY)
    found = [await here.event(name) for name in ("a1", "a2", "a3", "b1")]
    fields = ("seq", "state", "generation", "attempts", "lifetime_attempts")
    return {"words": found, "jobs": {name: await here.fields(name, *fields) for name in ("a1", "a2", "a3", "b1")}}


async def r02(here: World) -> Facts:
    """The same body with its keys in another order is a replay."""
    await here.define(RELAY)
    body = {"delta": 10, "note": {"x": 1, "y": 2}}
    await here.store.admit("relay", "a1", body, flow="a")
    before = await here.photo()
    again = await here.store.admit("relay", "a1", {"note": {"y": 2, "x": 1}, "delta": 10}, flow="a")
    return {"word": word(again), "unchanged": await here.photo() == before}


async def r03(here: World) -> Facts:
    """Another body or another flow under a known id is a conflict, and uses no number."""
    await here.define(RELAY)
    await here.events("a", 3)
    before = await here.photo()
    answers = [await here.admit_event("a1", 11), await here.admit_event("a1", 10, flow="b")]
    unchanged = await here.photo() == before
    await here.event("a4")
    return {
        "words": [[word(answer), answer.field] for answer in answers],
        "unchanged": unchanged,
        "next": await here.fields("a4", "seq"),
    }


async def r04(here: World) -> Facts:
    """A delta outside 1..1000 is an error that leaves nothing."""
    await here.define(RELAY)
    taken = [await here.event("a1", 1), await here.event("a2", 1_000)]
    before = await here.photo()
    errors = [await here.error(here.event("a3", bad)) for bad in (0, 1_001, -1, 1.5, True, "1", None)]
    errors.append(await here.error(here.inbox.receive("a3", "a", 3, {})))
    unchanged = await here.photo() == before
    await here.event("a3")
    return {"taken": taken, "errors": errors, "unchanged": unchanged, "next": await here.fields("a3", "seq")}


async def r06(here: World) -> Facts:
    """Three flows of three events take turns; an empty claim uses no ticket."""
    await here.define(RELAY)
    for flow in "abc":
        await here.events(flow, 3)
    order: list[str] = []
    tickets: list[int] = []
    while claim := await here.claim(W1):
        order.append(claim.token.job)
        tickets.append(claim.ticket)
        await here.commit(claim, W1)
    return {
        "order": order,
        "tickets": tickets,
        "served": await here.served("a", "b", "c"),
        "ticket": await here.ticket(),
    }


async def r07(here: World) -> Facts:
    """One event behind a hundred of another flow comes second."""
    await here.define(RELAY)
    await here.events("a", 100)
    await here.events("b", 1)
    return {"order": await here.work(W1, 101)}


async def r08(here: World) -> Facts:
    """A turn that fails is a turn."""
    await here.define(RELAY)
    await here.events("a", 2)
    await here.events("b", 2)
    first = await here.take(W1, 0)
    await here.fail(first)
    claims = [first]
    for _ in range(2):
        claims.append(await here.take(W1, 0))
        await here.commit(claims[-1], W1)
    claims.append(await here.take(W1, 2))
    return {
        "claims": [[claim.token.job, claim.ticket] for claim in claims],
        "a1": await here.fields("a1", "attempts", "lifetime_attempts", "generation"),
        "served": await here.served("a", "b"),
    }


async def r09(here: World) -> Facts:
    """Flows that stay claimable, some turns failing without a wait: each is claimed once in every round."""
    manifest = Manifest("relay", "relay/1", (step("deliver", "deliver", base=0, budget=100),))
    worker = Worker.declaring("w1", manifest)
    await here.define(manifest)
    for flow in "abcde":
        await here.events(flow, 8)
    rounds = []
    for _ in range(8):
        seen = []
        for _ in range(5):
            claim = await here.take(worker)
            seen.append(claim.flow)
            if claim.ticket % 3:
                await here.commit(claim, worker)
            else:
                await here.fail(claim)
        rounds.append(seen)
    return {"rounds": rounds}


async def r10(here: World) -> Facts:
    """The wrong choice, by name, and the right one, by `served`, over one input. No store is asked."""
    events = {"a": 3, "b": 3, "z": 1}
    return {
        "by name": choose(events, by_name=True),
        "by served": choose(events, by_name=False),
        "z by name, a refilled": "z1" in choose(events | {"a": 1_000}, by_name=True)[:100],
        "z by served, a refilled": choose(events | {"a": 1_000}, by_name=False).index("z1") + 1,
    }


def choose(events: dict[str, int], *, by_name: bool) -> list[str]:
    """The order in which flows with that many events are served, by the smallest name or the smallest last ticket."""
    left, served, given, order = dict(events), dict.fromkeys(events, 0), dict.fromkeys(events, 0), []
    for ticket in range(1, sum(events.values()) + 1):
        waiting = [flow for flow in left if left[flow]]
        flow = min(waiting) if by_name else min(waiting, key=lambda name: served[name])
        left[flow] -= 1
        given[flow] += 1
        served[flow] = ticket
        order.append(f"{flow}{given[flow]}")
    return order


async def newcomers(here: World, count: int) -> list[str | None]:
    """An old flow of twelve events; after every claim a new flow with one event appears."""
    await here.define(RELAY)
    for number in range(1, 13):
        await here.event(f"old{number}", flow="old")
    order: list[str | None] = []
    for number in range(1, count + 1):
        order.extend(await here.work(W1, 1))
        await here.event(f"n{number}", flow=f"n{number}")
    return order


async def r11(here: World) -> Facts:
    """The documents' rule: newcomers first, so an old flow can starve."""
    await here.store.set("newcomers", "first", "the documents' rule")
    order = await newcomers(here, 21)
    return {"order": order, "when they stop": await here.work(W1, 2)}


async def r12(here: World) -> Facts:
    """The default: newcomers join behind those who wait."""
    return {"order": await newcomers(here, 24)}


async def r13(here: World) -> Facts:
    """A head in flight blocks its own flow only."""
    await here.define(RELAY)
    await here.events("a", 2)
    await here.events("b", 1)
    return {"claims": [await here.name_of_next(W1) for _ in range(3)]}


async def r14(here: World) -> Facts:
    """A head that backs off blocks its own flow until it is due."""
    await here.define(RELAY)
    await here.events("a", 2)
    await here.events("b", 1)
    await here.fail(await here.take(W1, 0))
    claims = [await here.name_of_next(W1, now) for now in (0, 1, 2)]
    return {"claims": claims}


async def r15(here: World) -> Facts:
    """A quarantined head blocks its own flow until a person acts."""
    await here.define(RELAY)
    await here.events("a", 2)
    await here.events("b", 3)
    claim = await here.take(W1)
    await here.store.quarantine(claim.token, "unusable")
    others = await here.work(W1, 4)
    much_later = await here.name_of_next(W1, 1_000)
    await here.store.redrive("a1", 1, "looked at it")
    return {"others": others, "@1000": much_later, "after redrive": await here.work(W1, 3)}


async def r16(here: World) -> Facts:
    """A head that is done makes room at once."""
    await here.define(RELAY)
    await here.events("a", 2)
    return {"claims": await here.work(W1, 2, now=0)}


async def exhaust(here: World, name: str, ticks: tuple[int, ...] = (0, 2, 6)) -> list[str]:
    """Claim and fail at these ticks, with a reason that says which."""
    found = []
    for now in ticks:
        claim = await here.take(W1, now)
        assert claim.token.job == name, f"{name} was expected, not {claim.token.job}"
        found.append(await here.fail(claim, f"no answer at {now}"))
    return found


async def r17(here: World) -> Facts:
    """Two waits, then quarantine, for good."""
    await here.define(RELAY)
    await here.event("a1")
    seen = []
    for now in (0, 1, 2, 5, 6, 1_000):
        claim = await here.claim(W1, now)
        said = await here.fail(claim, f"no answer at {now}") if claim else None
        seen.append([now, said, *await here.fields("a1", "due", "attempts")])
    return {
        "seen": seen,
        "end": await here.fields("a1", "state", "reason", "attempts", "lifetime_attempts", "generation", "due"),
        "history": await here.history("a1"),
    }


async def r18(here: World) -> Facts:
    """The formula: base 2, ceiling 8; and the waits that a job of budget 3 and one of budget 5 see."""
    seen = {}
    for budget in (3, 5):
        manifest = Manifest(f"budget-{budget}", "relay/1", (step("deliver", "deliver", budget=budget),))
        worker = Worker.declaring("w1", manifest)
        await here.define(manifest)
        await here.store.admit(manifest.name, f"b{budget}", {"delta": 1})
        seen[str(budget)] = await waits(here, worker)
    return {
        "formula": [backoff(attempts, 2, 8) for attempts in range(1, 7)],
        "10,000": backoff(10_000, 2, 8),
        "seen": seen,
    }


async def waits(here: World, worker: Worker) -> list[int]:
    """The waits of one job that fails until it is quarantined."""
    found: list[int] = []
    now = None
    while claim := await here.claim(worker, now):
        answer = await here.store.fail(claim.token, "no answer", now=now)
        if answer.due is None:
            break
        found.append(answer.due - claim.claimed_at)
        now = answer.due
    return found


async def r19(here: World) -> Facts:
    """A worker that dies before it sends anything has used an attempt each time."""
    await here.define(RELAY)
    await here.event("a1")
    claims = [await here.name_of_next(W1, now) for now in (0, 6, 12, 18)]
    return {
        "claims": claims,
        "a1": await here.fields("a1", "state", "attempts", "lifetime_attempts", "reason"),
        "inbox": await here.inbox.totals(),
        "ticket": await here.ticket(),
    }


async def r20(here: World) -> Facts:
    """The last tick of a lease is live."""
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1, 0)
    return {"lease_until": claim.lease_until, "@5": await here.commit(claim, W1, now=5)}


async def r21(here: World) -> Facts:
    """One tick later a commit is expired, though nobody has taken over."""
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1, 0)
    found = [await here.commit(claim, W1, now=6) for _ in range(2)]
    return {
        "words": found,
        "a1": await here.fields("a1", "state", "cursor", "generation"),
        "effects": await here.effects("a1"),
        "history": await here.history("a1"),
    }


async def r22(here: World) -> Facts:
    """The next worker takes over one tick after the lease."""
    await here.define(RELAY)
    await here.event("a1")
    first = await here.take(W1, 0)
    early = await here.name_of_next(W2, 5)
    second = await here.take(W2, 6)
    return {
        "@5": early,
        "tickets": [first.ticket, second.ticket],
        "lease_until": second.lease_until,
        "a1": await here.fields("a1", "generation", "attempts", "lifetime_attempts", "worker"),
    }


async def r23(here: World) -> Facts:
    """Every other callback with a lapsed token is expired too, and changes nothing."""
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1, 0)
    before = await here.photo()
    store = here.store
    answers = [
        await store.fail(claim.token, "late", now=6),
        await store.quarantine(claim.token, "late", now=6),
        await store.release(claim.token, "late", now=6),
        await store.renew(claim.token, now=6),
    ]
    return {"words": [word(answer) for answer in answers], "unchanged": await here.photo() == before}


async def r24(here: World) -> Facts:
    """The first worker comes back after a take-over: stale, and the new round is not touched."""
    await here.define(RELAY)
    await here.event("a1")
    first = await here.take(W1, 0)
    second = await here.take(W2, 6)
    before = await here.photo()
    late = await here.commit(first, W1, now=7)
    unchanged = await here.photo() == before
    done = await here.commit(second, W2, now=7)
    return {"first": late, "unchanged": unchanged, "second": done, "effects": len(await here.effects("a1"))}


async def r25(here: World) -> Facts:
    """So it is with its failure: no backoff."""
    await here.define(RELAY)
    await here.event("a1")
    first = await here.take(W1, 0)
    await here.take(W2, 6)
    late = await here.fail(first, now=7)
    return {"first": late, "a1": await here.fields("a1", "state", "attempts", "due", "worker")}


async def r26(here: World) -> Facts:
    """One commit delivered twice counts once."""
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1)
    found = [await here.commit(claim, W1) for _ in range(2)]
    return {"words": found, "effects": len(await here.effects("a1"))}


async def r27(here: World) -> Facts:
    """Old tokens after quarantine, redrive and done are stale; what was sent stays sent."""
    await here.define(RELAY)
    await here.event("a1")
    first = await here.take(W1)
    sent = await here.send(first)
    await here.store.quarantine(first.token, "unsure")
    found = {"quarantined": await here.commit(first, W1)}
    await here.store.redrive("a1", 1, "looked")
    found["redriven"] = await here.commit(first, W1)
    second = await here.take(W1)
    found["claimed again"] = await here.commit(first, W1)
    await here.commit(second, W1)
    found["done"] = await here.commit(second, W1)
    return {"words": found, "sent": str(sent.verdict), "totals": await here.inbox.totals()}

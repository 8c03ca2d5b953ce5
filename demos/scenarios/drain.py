"""Document 14, drain barrier: its scenarios one by one. Each returns what it saw as plain data."""

from demos.scenarios.world import Facts, World, plain, step, word
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Answer, Token, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store

TASK = Manifest("task", "note/1", (step("do", "do", OnLapse.HOLD),))
TWO = Manifest("two", "note/1", (step("first", "do", OnLapse.HOLD), step("second", "do", OnLapse.HOLD)))
LAPSING = Manifest("lapsing", "note/1", (step("do", "do"),))
W1 = Worker.declaring("w1", TASK, TWO, LAPSING)
W2 = Worker.declaring("w2", TASK, TWO, LAPSING)


async def ready(here: World) -> None:
    """The three workflows of these scenarios."""
    await here.define(TASK)
    await here.define(TWO)
    await here.define(LAPSING)


async def admit(here: World, name: str, note: str = "n", workflow: str = "task") -> str:
    """Admit a job of its own; the word."""
    return word(await here.store.admit(workflow, name, {"note": note}))


def told(answer: Answer) -> list[object]:
    """A barrier answer: word, mode, version."""
    return [word(answer), plain(answer.mode), answer.version]


async def ask(here: World, action: str, version: int) -> list[object]:
    """One barrier command: word, mode, version."""
    return told(await here.store.transition(action, version))


async def barrier(here: World) -> list[object]:
    """The barrier as a snapshot shows it."""
    seen = await here.store.snapshot()
    return [str(seen.mode), seen.version]


async def drained(here: World) -> None:
    """Jobs a (done) and the door shut, then paused at version 2."""
    await ready(here)
    await admit(here, "a")
    await here.work(W1, 1)
    await ask(here, "drain", 0)
    await ask(here, "pause", 1)


async def d01(here: World) -> Facts:
    """A new store is open at version 0, and no opening resets it."""
    seen = [await barrier(here)]
    for action, version in (("drain", 0), ("pause", 1)):
        await ask(here, action, version)
        async with await Store.open(here.queue, clock="logical", store_id="another") as again:
            photo = await again.snapshot()
            seen.append([str(photo.mode), photo.version])
    return {"barrier": seen}


async def d02(here: World) -> Facts:
    """The life cycle."""
    await ready(here)
    found = [await admit(here, "a"), *(await ask(here, "drain", 0))[:1], *(await ask(here, "pause", 1))[:1]]
    found.append(await here.commit(await here.take(W1), W1))
    found.extend((await ask(here, "pause", 1))[:1])
    found.extend([await admit(here, "a"), await admit(here, "b")])
    photo = await here.store.snapshot()
    return {
        "words": found,
        "end": [str(photo.mode), photo.version],
        "jobs": sum(photo.jobs.values()),
        "effects": photo.effects,
    }


async def d03(here: World) -> Facts:
    """Door shut, exit open: work goes on as in open, backoff included."""
    await ready(here)
    await admit(here, "a")
    await ask(here, "drain", 0)
    claim = await here.take(W1, 0)
    failed = await here.fail(claim)
    early = await here.name_of_next(W1, 1)
    done = await here.commit(await here.take(W1, 2), W1)
    return {"failed": failed, "@1": early, "@2": done}


async def blocked(here: World, name: str) -> None:
    """One job in the named condition, and the door shut."""
    await ready(here)
    await admit(here, "a", workflow="two" if name == "one step of two" else "task")
    await ask(here, "drain", 0)
    if name == "ready":
        return
    claim = await here.take(W1, 0)
    if name == "backing off":
        await here.fail(claim)
    elif name == "quarantined":
        await here.store.quarantine(claim.token, "unsure")
    elif name == "one step of two":
        await here.commit(claim, W1)


async def busy(here: World, name: str, now: int | None = None) -> list[object]:
    """What pause answers: word, mode, version, unfinished by state."""
    await blocked(here, name)
    answer = await here.store.transition("pause", 1, now=now)
    return [*told(answer), plain(answer.unfinished)]


async def d04_ready(here: World) -> Facts:
    """A ready job blocks."""
    return {"pause": await busy(here, "ready")}


async def d04_inflight(here: World) -> Facts:
    """A job in flight blocks."""
    return {"pause": await busy(here, "in flight")}


async def d04_waiting(here: World) -> Facts:
    """A job that backs off blocks."""
    return {"pause": await busy(here, "backing off")}


async def d04_quarantined(here: World) -> Facts:
    """A quarantined job blocks."""
    return {"pause": await busy(here, "quarantined")}


async def d04_held(here: World) -> Facts:
    """A lapsed and held job blocks."""
    return {"pause": await busy(here, "held", 100)}


async def d04_between(here: World) -> Facts:
    """A job between two steps blocks."""
    return {"pause": await busy(here, "one step of two")}


async def d05(here: World) -> Facts:
    """An empty queue is not done."""
    await ready(here)
    for name in "abc":
        await admit(here, name)
    claims = [await here.take(W1) for _ in range(3)]
    for claim in claims[:2]:
        await here.store.quarantine(claim.token, "unsure")
    await ask(here, "drain", 0)
    answer = await here.store.transition("pause", 1)
    return {"claim": await here.name_of_next(W1), "pause": told(answer), "unfinished": plain(answer.unfinished)}


async def d06(here: World) -> Facts:
    """The right version at the wrong moment is refused, and raises nothing."""
    await ready(here)
    empty = [await ask(here, action, 0) for action in ("pause", "resume")]
    await admit(here, "a")
    unfinished = await ask(here, "pause", 0)
    await ask(here, "drain", 0)
    draining = await ask(here, "drain", 1)
    await here.work(W1, 1)
    await ask(here, "pause", 1)
    return {
        "open": empty,
        "open, unfinished": unfinished,
        "draining": draining,
        "paused": [await ask(here, action, 2) for action in ("drain", "pause")],
    }


async def d07(here: World) -> Facts:
    """Under hold a dead worker's job blocks for ever, until its commit or a recover."""
    await ready(here)
    await admit(here, "a")
    claim = await here.take(W1, 0)
    await ask(here, "drain", 0)
    later = told(await here.store.transition("pause", 1, now=1_000_000))
    state = await here.fields("a", "state", "generation", "worker", "since")
    recovered = word(await here.store.recover("a", 1, "the machine is gone"))
    return {"@1000000": later, "a": state, "recovered": recovered, "late": await here.commit(claim, W1)}


async def d08(here: World) -> Facts:
    """Identity before the door, in every mode; what was closed leaves nothing."""
    await ready(here)
    await admit(here, "a")
    await ask(here, "drain", 0)
    before = await here.photo()
    shut = [await admit(here, "a"), await admit(here, "a", "other"), await admit(here, "b")]
    unchanged = await here.photo() == before
    unfinished = await here.store.admit("task", "a", {"note": "n"})
    await here.work(W1, 1)
    await ask(here, "pause", 1)
    paused = [await admit(here, "a"), await admit(here, "a", "other"), await admit(here, "b")]
    done = await here.store.admit("task", "a", {"note": "n"})
    await ask(here, "resume", 2)
    return {
        "draining": shut,
        "unchanged": unchanged,
        "paused": paused,
        "states": [str(answer.record.state) if answer.record else None for answer in (unfinished, done)],
        "resumed": await admit(here, "b"),
    }


async def d09(here: World) -> Facts:
    """Identity before the door, the door before capacity."""
    await ready(here)
    await admit(here, "a")
    await here.store.set("capacity", 1, "small")
    full = await here.store.admit("task", "b", {"note": "n"})
    found = [await admit(here, "a"), await admit(here, "a", "other"), word(full)]
    await ask(here, "drain", 0)
    return {"words": found, "says which": full.cause, "draining": await admit(here, "b")}


async def d10(here: World) -> Facts:
    """A late resume of an earlier round does not open the door."""
    commands = [("drain", 0), ("resume", 1), ("drain", 2), ("resume", 1), ("resume", 3)]
    return {"told": [await ask(here, action, version) for action, version in commands]}


async def d11(here: World) -> Facts:
    """Each success raises the version by one, each failure by nothing."""
    await ready(here)
    moves = [("drain", 0), ("resume", 1), ("drain", 2), ("pause", 3), ("resume", 4)]
    told_by = [await ask(here, action, version) for action, version in moves]
    number, wrong = 7, 0
    for _ in range(100):
        number = number * 1_103_515_245 % 2**31
        photo = await here.store.snapshot()
        action = ("drain", "pause", "resume")[number // 8 % 3]
        version = photo.version - number // 64 % 2
        answer = await here.store.transition(action, version)
        succeeded = word(answer) in ("draining", "paused", "open")
        wrong += (await here.store.snapshot()).version != photo.version + succeeded
    return {"told": told_by, "wrong": wrong}


async def d12(here: World) -> Facts:
    """Generation and control version are never compared."""
    await ready(here)
    await admit(here, "a")
    for generation in range(1, 7):
        claim = await here.take(W1)
        assert claim.token.generation == generation, "each claim raises the generation by one"
        await here.store.release(claim.token, "again")
    claim = await here.take(W1)
    await ask(here, "drain", 0)
    return {"generation": claim.token.generation, "commit": await here.commit(claim, W1), "end": await barrier(here)}


async def d13(here: World) -> Facts:
    """Quarantine, redrive, the first round's commit, the second's; then paused."""
    await ready(here)
    await admit(here, "a")
    first = await here.take(W1)
    await ask(here, "drain", 0)
    found = [word(await here.store.quarantine(first.token, "unsure"))]
    found.append(str((await ask(here, "pause", 1))[0]))
    found.append(word(await here.store.redrive("a", 1, "looked")))
    second = await here.take(W2)
    found.append(await here.commit(first, W1))
    effects = await here.effects("a")
    found.append(await here.commit(second, W2))
    found.append(str((await ask(here, "pause", 1))[0]))
    return {"words": found, "effects then": effects, "generations": [first.token.generation, second.token.generation]}


async def d14(here: World) -> Facts:
    """An old generation, a done job, another job's generation: stale."""
    await ready(here)
    for name in "ab":
        await admit(here, name)
    old = await here.take(W1)
    await here.store.release(old.token, "again")
    other = await here.take(W1)
    await here.store.release(other.token, "again")
    new = await here.take(W1)
    stale = [await here.commit(old, W1)]
    stale.append(await here.commit(Token("b", 0, new.token.generation, 0, TASK.digest), W1))
    await here.commit(new, W1)
    before = await here.photo()
    stale.append(await here.commit(new, W1))
    return {"words": stale, "unchanged": await here.photo() == before}


async def d15(here: World) -> Facts:
    """Two deliveries of one commit."""
    await ready(here)
    await admit(here, "a")
    claim = await here.take(W1)
    return {"words": [await here.commit(claim, W1) for _ in range(2)], "effects": len(await here.effects("a"))}


async def d16(here: World) -> Facts:
    """After paused every token is stale, claims are empty, and what reads or prepares still works."""
    await ready(here)
    await admit(here, "a")
    token = (await here.take(W1)).token
    await here.commit(token, W1)
    await ask(here, "drain", 0)
    await ask(here, "pause", 1)
    store = here.store
    late = [
        await store.commit_step(token, None, worker=W1),
        await store.fail(token, "late"),
        await store.renew(token),
        await store.release(token, "late"),
        await store.quarantine(token, "late"),
    ]
    claims = await store.claim(1, W1)
    works = [
        await admit(here, "a"),
        await admit(here, "a", "other"),
        word(await store.register(TASK)),
        word(await store.switch(TASK.digest, 1)),
        word(await store.transition("resume", 2)),
    ]
    return {"late": [word(answer) for answer in late], "claim": [str(claims.mode), len(claims.claims)], "works": works}


async def d17(here: World) -> Facts:
    """A lost reply: without a command id stale, with it the same answer; a busy pause is judged anew."""
    await ready(here)
    await admit(here, "a")
    store = here.store
    first = await store.transition("drain", 0, command_id="c1")
    bare = await store.transition("drain", 0)
    again = await store.transition("drain", 0, command_id="c1")
    other = await store.transition("drain", 1, command_id="c1")
    busy_then = await store.transition("pause", 1, command_id="c2")
    await here.work(W1, 1)
    paused = await store.transition("pause", 1, command_id="c2")
    return {"told": [told(answer) for answer in (first, bare, again, other, busy_then, paused)]}


async def d23(here: World) -> Facts:
    """What is no version, or no action, is an error."""
    before = await here.photo()
    errors = [await here.error(here.store.transition("drain", bad)) for bad in (-1, True, "0", 1.0, None)]  # type: ignore[arg-type]
    errors.append(await here.error(here.store.transition("stop", 0)))
    return {"errors": errors, "unchanged": await here.photo() == before}

"""Two files, no transaction across them: accepted, duplicate, conflict, gap, unsupported."""

from pathlib import Path

from demos.scenarios.relay import W1, W2
from demos.scenarios.world import RELAY, World, word, world
from demos.story import Teller, run_alone

CAPABILITY = 100
LAPSED = 6


async def tell(teller: Teller, folder: Path) -> None:
    """The whole demo."""
    teller.title("relay: from queue.db to receiver.db, each event once")
    teller.say(
        "Two independent database files. A job's only step delivers its event to the receiver, which keeps a receipt "
        "and adds the event's delta to the flow's total, both in one transaction of its own. No transaction spans the "
        "two files."
    )
    async with world(folder, max_delta=CAPABILITY) as here:
        await here.define(RELAY)
        await _accepted(teller, here)
        await _duplicate(teller, here)
        await _conflict(teller, here)
        await _gap(teller, here)
        await _unsupported(teller, here)
        teller.saw("the receiver's totals in the end", _totals(await here.inbox.totals()))


async def _accepted(teller: Teller, here: World) -> None:
    teller.say("Accepted: the receiver keeps the event, then the job is committed.")
    await here.event("a1", 10)
    teller.saw("deliver a1 (delta 10): event, receiver, job", await here.deliver(W1, 0))


async def _duplicate(teller: Teller, here: World) -> None:
    teller.say(
        "Duplicate: the receiver has committed a2, and the worker dies before its own commit. Nobody can know that "
        "from outside. When the lease has lapsed, another worker delivers the same event again, with the same id."
    )
    await here.event("a2", 5)
    receipt = await here.send(await here.take(W1, 0))
    teller.saw("the first worker sends a2 and is gone", str(receipt.verdict))
    teller.saw(f"another worker delivers a2 at tick {LAPSED}", await here.deliver(W2, LAPSED))
    teller.saw("the delta counts once", _totals(await here.inbox.totals()))


async def _conflict(teller: Teller, here: World) -> None:
    teller.say("Conflict: somebody else has used c1's number in its flow. The first stands; a person must decide.")
    stranger = await here.inbox.receive("stranger", "c", 1, {"delta": 1})
    teller.saw("a stranger delivers number 1 of flow c", str(stranger.verdict))
    await here.event("c1", 10)
    teller.saw("deliver c1", await here.deliver(W1))
    teller.saw("its reason", (await here.fields("c1", "reason"))[0])


async def _gap(teller: Teller, here: World) -> None:
    teller.say(
        "Gap: d2 reaches a receiver that has not seen d1, because d1 was marked done without being sent. "
        "Nothing is skipped: the attempt fails and waits."
    )
    await here.events("d", 2)
    teller.saw("d1 is committed but never sent", await here.commit(await here.take(W1), W1))
    teller.saw("deliver d2", await here.deliver(W1))
    teller.saw("d2 now", await here.fields("d2", "state", "attempts", "due"))
    missing = await here.inbox.receive("d1", "d", 1, {"delta": 10})
    teller.saw("somebody sends d1 after all", str(missing.verdict))
    (due,) = await here.fields("d2", "due")
    teller.saw(f"deliver d2 again at tick {due}", await here.deliver(W1, due))


async def _unsupported(teller: Teller, here: World) -> None:
    teller.say(f"Unsupported: this receiver takes deltas up to {CAPABILITY}. Trying again cannot help.")
    await here.event("e1", 150)
    await here.event("e2", 10)
    teller.saw("deliver e1 (delta 150)", await here.deliver(W1))
    behind = await here.deliver(W1)
    teller.saw("deliver e2, behind it in the same flow", behind or "nothing to claim: e1 blocks its flow")
    teller.say("The receiver is upgraded, and a person redrives e1: the same id, number and body, applied once.")
    await here.inbox.set_max_delta(1_000)
    generation = (await here.job("e1")).generation
    answer = await here.store.redrive("e1", generation, "the receiver takes 1000 now", actor="operator")
    teller.saw("redrive e1", word(answer))
    teller.saw("deliver", await here.deliver(W1))
    teller.saw("deliver", await here.deliver(W1))


def _totals(totals: dict[str, int]) -> str:
    return ", ".join(f"{flow}: {total}" for flow, total in sorted(totals.items()))


if __name__ == "__main__":
    run_alone(tell)

"""The barrier's life: open, draining, paused, and open again."""

from pathlib import Path

from demos.scenarios.drain import TASK
from demos.scenarios.world import World, word, world
from demos.story import Teller, run_alone
from runtime.protocol.records import Answer, Worker

WORKER = Worker.declaring("worker", TASK)
LATE = 1_000
BARRIER = ("drain", "pause", "resume")


async def tell(teller: Teller, folder: Path) -> None:
    """The whole demo."""
    teller.title("drain: close the door, finish everything accepted, then pause")
    async with world(folder) as here:
        await here.define(TASK)
        await _close(teller, here)
        await _finish(teller, here)
        await _open_again(teller, here)


async def _close(teller: Teller, here: World) -> None:
    teller.say("The store is open, at version 0. Three jobs are accepted; a worker takes the first one.")
    for name in ("a", "b", "c"):
        teller.saw(f"admit {name!r}", await _admit(here, name))
    claim = await here.take(WORKER)
    teller.saw("claim", f"{claim.token.job!r}, generation {claim.token.generation}")
    teller.say("Now drain. The command carries the version it has seen, so that a late one cannot undo a later one.")
    teller.saw("drain, seen version 0", _barrier(await here.store.transition("drain", 0)))
    teller.saw("admit 'd', a new promise", await _admit(here, "d"))
    teller.saw("admit 'a' once more, a promise already given", await _admit(here, "a"))
    teller.saw("pause", _busy(await here.store.transition("pause", 1)))
    teller.saw("drain again, still with version 0", _barrier(await here.store.transition("drain", 0)))
    teller.say(
        "The worker that holds 'a' is slow. Its step's policy is 'hold': however long it takes, waiting is no evidence "
        "that nothing happened outside, so the job is not given to anybody else and the drain waits for it."
    )
    teller.saw(f"pause, {LATE} ticks later", _busy(await here.store.transition("pause", 1, now=LATE)))
    teller.saw("the worker answers after all", await here.commit(claim, WORKER, 1, now=LATE))


async def _finish(teller: Teller, here: World) -> None:
    teller.say("While draining, what was accepted is still handed out. 'b' turns out to be unusable.")
    claim = await here.take(WORKER)
    answer = await here.store.quarantine(claim.token, "the note cannot be read", worker=WORKER.id)
    teller.saw(f"the worker gives {claim.token.job!r} up", word(answer))
    teller.saw("'c' is done", await here.work(WORKER, 1))
    teller.saw("pause", _busy(await here.store.transition("pause", 1)))
    teller.say("A quarantined job is still a promise. A person looks at it and sends it back with a reason.")
    record = await here.job("b")
    answer = await here.store.redrive("b", record.generation, "the note was repaired", actor="operator")
    teller.saw(f"redrive 'b', seen generation {record.generation}", word(answer))
    teller.saw("'b' is done", await here.work(WORKER, 1))
    teller.saw("pause", _barrier(await here.store.transition("pause", 1)))
    teller.saw("claim", str((await here.store.claim(1, WORKER)).mode) + ": nothing is handed out")


async def _open_again(teller: Teller, here: World) -> None:
    teller.say("The pause survives restarts: opening the file resets nothing. Only 'resume' opens the door.")
    teller.saw("resume, seen version 2", _barrier(await here.store.transition("resume", 2)))
    teller.saw("admit 'd', refused before, is a first admission", await _admit(here, "d"))
    teller.saw("a late resume, seen version 2", _barrier(await here.store.transition("resume", 2)))
    audits = [f"{row.verb} by {row.actor}" for row in await here.store.audit() if row.verb in BARRIER]
    teller.saw("what stays on record, the last first", audits)


async def _admit(here: World, name: str) -> str:
    return word(await here.store.admit("task", name, {"note": name}))


def _barrier(answer: Answer) -> str:
    return f"{word(answer)}; the store is {answer.mode}, version {answer.version}"


def _busy(answer: Answer) -> str:
    left = ", ".join(f"{count} {state}" for state, count in (answer.unfinished or {}).items() if count)
    return _barrier(answer) + (f"; unfinished: {left}" if left else "")


if __name__ == "__main__":
    run_alone(tell)

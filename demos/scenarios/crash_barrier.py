"""The nine crash points of the drain barrier: admission, drain, commit and pause, each before and after its commit."""

from pathlib import Path
from typing import Any

from demos.scenarios.stage import TASK, Seen, Stage, take
from demos.scenarios.world import words
from runtime.protocol.records import Claim, Worker

WORKER = Worker.declaring("worker", TASK)
LATE = 1_000


def task(job: str) -> dict[str, Any]:
    """The arguments of one admission."""
    return {"workflow": "task", "id": job, "payload": {"note": job}, "now": 0}


async def ready(folder: Path, *jobs: str) -> Stage:
    """A store with these jobs."""
    stage = Stage(folder)
    await stage.define(TASK)
    async with await stage.store() as store:
        for job in jobs:
            await store.admit(**task(job))
    return stage


async def dc1(folder: Path) -> Seen:
    """Admission, before its commit; for the second job the door shuts meanwhile."""
    stage = await ready(folder)
    await stage.crash("admit.before_commit", "admit", **task("a"))
    await stage.look("left")
    async with await stage.store() as store:
        stage.seen["then"] = words([await store.admit(**task("a"))])
    await stage.crash("admit.before_commit", "admit", **task("b"))
    async with await stage.store() as store:
        drained = await store.transition("drain", 0, now=0)
        stage.seen["drained meanwhile"] = words([drained, await store.admit(**task("b"))])
    await stage.look("end")
    return stage.seen


async def dc2(folder: Path) -> Seen:
    """Admission, after its commit; a retry is a replay in any mode."""
    stage = await ready(folder)
    await stage.crash("admit.after_commit", "admit", **task("a"))
    await stage.look("left")
    async with await stage.store() as store:
        answers = [await store.admit(**task("a")), await store.transition("drain", 0, now=0)]
        answers.append(await store.admit(**task("a")))
        claim = await take(store, WORKER, 0)
        await store.commit_step(claim.token, 1, worker=WORKER, now=0)
        answers += [await store.transition("pause", 1, now=0), await store.admit(**task("a"))]
        stage.seen["then"] = words(answers)
    await stage.look("end")
    return stage.seen


async def dc3(folder: Path) -> Seen:
    """Drain, before its commit: the door is open, also after opening anew."""
    stage = await ready(folder)
    await stage.crash("transition.before_commit", "transition", action="drain", expected_version=0, now=0)
    await stage.look("left")
    async with await stage.store() as store:
        stage.seen["then"] = words([await store.transition("drain", 0, now=0)])
    await stage.look("end")
    return stage.seen


async def dc4(folder: Path) -> Seen:
    """Drain, after its commit: the door is shut, also after opening anew."""
    stage = await ready(folder)
    await stage.crash("transition.after_commit", "transition", action="drain", expected_version=0, now=0)
    await stage.look("left")
    async with await stage.store() as store:
        stage.seen["then"] = words([await store.transition("drain", 0, now=0), await store.admit(**task("b"))])
    await stage.look("end")
    return stage.seen


async def committing(folder: Path, at: str) -> tuple[Stage, Claim]:
    """A draining store with one job in flight, whose commit ends at the point."""
    stage = await ready(folder, "a")
    async with await stage.store() as store:
        claim = await take(store, WORKER, 0)
        await store.transition("drain", 0, now=0)
    await stage.crash(at, "commit_step", token=claim.token, value=1, worker=WORKER, now=0)
    await stage.look("left")
    return stage, claim


async def uncommitted(folder: Path, at: str) -> Seen:
    """Nothing of the commit is there, it blocks the pause, and under `hold` its token still commits, however late."""
    stage, claim = await committing(folder, at)
    async with await stage.store() as store:
        stage.seen["then"] = words(
            [
                await store.transition("pause", 1, now=0),
                await store.commit_step(claim.token, 1, worker=WORKER, now=LATE),
                await store.transition("pause", 1, now=LATE),
            ]
        )
    await stage.look("end")
    return stage.seen


async def dc5(folder: Path) -> Seen:
    """Commit: the effect is written, the job's state not yet."""
    return await uncommitted(folder, "commit_step.effects")


async def dc6(folder: Path) -> Seen:
    """Commit: both are written, before the commit."""
    return await uncommitted(folder, "commit_step.before_commit")


async def dc7(folder: Path) -> Seen:
    """Commit, after its commit."""
    stage, claim = await committing(folder, "commit_step.after_commit")
    async with await stage.store() as store:
        again = await store.commit_step(claim.token, 1, worker=WORKER, now=0)
        stage.seen["then"] = words([again, await store.transition("pause", 1, now=0)])
    await stage.look("end")
    return stage.seen


async def pausing(folder: Path, at: str) -> Stage:
    """An empty draining store, whose pause ends at the point."""
    stage = await ready(folder)
    async with await stage.store() as store:
        await store.transition("drain", 0, now=0)
    await stage.crash(at, "transition", action="pause", expected_version=1, now=0)
    await stage.look("left")
    return stage


async def dc8(folder: Path) -> Seen:
    """Pause, before its commit."""
    stage = await pausing(folder, "transition.before_commit")
    async with await stage.store() as store:
        stage.seen["then"] = words([await store.transition("pause", 1, now=0)])
    await stage.look("end")
    return stage.seen


async def dc9(folder: Path) -> Seen:
    """Pause, after its commit: nothing is handed out, nothing new comes in."""
    stage = await pausing(folder, "transition.after_commit")
    async with await stage.store() as store:
        again = await store.transition("pause", 1, now=0)
        claims = await store.claim(1, WORKER, now=0)
        stage.seen["then"] = [*words([again]), str(claims.mode), len(claims.claims)]
        stage.seen["then"] += words([await store.admit(**task("b"))])
    await stage.look("end")
    return stage.seen


ITEMS = {
    "DC1": dc1,
    "DC2": dc2,
    "DC3": dc3,
    "DC4": dc4,
    "DC5": dc5,
    "DC6": dc6,
    "DC7": dc7,
    "DC8": dc8,
    "DC9": dc9,
}

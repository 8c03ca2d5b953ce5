"""The six crash points of fair relay: admission, claim, delivery, the receiver's commit, the job's commit, redrive."""

from pathlib import Path

from demos.scenarios.stage import LAPSED, Seen, Stage, take
from demos.scenarios.world import RELAY, words
from runtime.protocol.records import Worker

FIRST = Worker.declaring("first", RELAY)
SECOND = Worker.declaring("second", RELAY)


async def ready(folder: Path) -> Stage:
    """One event of flow a, delta 10, and an empty receiver."""
    stage = Stage(folder)
    await stage.define(RELAY)
    async with await stage.store() as store, await stage.inbox():
        await store.admit("relay", "a1", {"delta": 10}, flow="a", now=0)
    return stage


async def interrupted(folder: Path, at: str) -> Seen:
    """A child claims, delivers and commits, and ends at the point; once the lease has lapsed another does it again."""
    stage = await ready(folder)
    await stage.crash(at, "relay", inbox=str(stage.receiver), worker=FIRST, now=0)
    await stage.look("left")
    async with await stage.store() as store, await stage.inbox() as inbox:
        stage.seen["too early"] = len((await store.claim(1, SECOND, now=LAPSED - 1)).claims)
        claim = await take(store, SECOND, LAPSED)
        receipt = await inbox.receive("a1", "a", claim.seq, {"delta": 10})
        answer = await store.commit_step(claim.token, receipt.verdict, worker=SECOND, now=LAPSED)
        stage.seen["then"] = [str(receipt.verdict), str(answer.verdict)]
        stage.seen["totals"] = await inbox.totals()
    await stage.look("end")
    return stage.seen


async def rc1(folder: Path) -> Seen:
    """Admission, before its commit."""
    stage = Stage(folder)
    await stage.define(RELAY)
    event = {"workflow": "relay", "id": "a1", "payload": {"delta": 10}, "flow": "a", "now": 0}
    await stage.crash("admit.before_commit", "admit", **event)
    await stage.look("left")
    async with await stage.store() as store:
        stage.seen["then"] = words([await store.admit("relay", "a1", {"delta": 10}, flow="a", now=0)])
    await stage.look("end")
    return stage.seen


async def rc2(folder: Path) -> Seen:
    """The claim is committed, nothing is sent yet."""
    return await interrupted(folder, "claim.after_commit")


async def rc3(folder: Path) -> Seen:
    """The receiver has written receipt and effect, and not committed them."""
    return await interrupted(folder, "receive.before_commit")


async def rc4(folder: Path) -> Seen:
    """The receiver has committed, the job has not."""
    return await interrupted(folder, "receive.after_commit")


async def rc5(folder: Path) -> Seen:
    """The job's effect is written, and not committed."""
    return await interrupted(folder, "commit_step.effects")


async def rc6(folder: Path) -> Seen:
    """Redrive has written its audit row, and not committed it."""
    stage = await ready(folder)
    async with await stage.store() as store:
        await store.quarantine((await take(store, FIRST, 0)).token, "receiver broken", worker="first", now=0)
    await stage.look("before")
    await stage.crash("redrive.audit", "redrive", job="a1", generation=1, reason="receiver repaired", now=1)
    await stage.look("left")
    async with await stage.store() as store:
        stage.seen["then"] = words([await store.redrive("a1", 1, "receiver repaired", now=1)])
    await stage.look("end")
    return stage.seen


ITEMS = {"RC1": rc1, "RC2": rc2, "RC3": rc3, "RC4": rc4, "RC5": rc5, "RC6": rc6}

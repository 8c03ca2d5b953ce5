"""The twelve crash points of versioned definitions: admission, claim, step, switch, migration.

Under `hold` a dead worker's job waits for `recover`; under `retry` a claim after the lapse takes its place.
"""

from pathlib import Path
from typing import Any

from demos.scenarios.stage import LAPSED, Seen, Stage, credit, points, run_points, take, total
from demos.scenarios.world import words
from runtime.protocol.records import Claim, Token, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store

UNITS = {"units": 10}
JOB: dict[str, Any] = {"workflow": "points", "id": "job", "payload": UNITS, "now": 0}


class Ledger(Stage):
    """Workflow points, both definitions registered, the route on V1."""

    def __init__(self, folder: Path, policy: OnLapse) -> None:
        super().__init__(folder)
        self.policy = policy
        self.v1, self.v2 = points(policy)
        self.dead = Worker.declaring("dead", self.v1, self.v2)
        self.living = Worker.declaring("living", self.v1, self.v2)

    @classmethod
    async def ready(cls, folder: Path, policy: OnLapse, *, admitted: bool = True) -> "Ledger":
        """With one job of ten units, or with none."""
        stage = cls(folder, policy)
        await stage.define(stage.v1, stage.v2)
        if admitted:
            async with await stage.store() as store:
                await store.admit(**JOB)
        return stage

    async def free(self, store: Store) -> list[str]:
        """What makes the dead worker's job claimable: `recover`, or the lapse of its lease and a sweep."""
        if self.policy is OnLapse.HOLD:
            return words([await store.recover("job", 1, "its worker is dead", now=LAPSED)])
        await store.sweep(now=LAPSED)
        return []

    async def finish(self) -> None:
        """Run to the end, and see what the job is worth."""
        async with await self.store() as store:
            self.seen["run"] = await run_points(store, self.living, LAPSED)
            self.seen["total"] = await total(store, "job")
        await self.look("end")


async def vc1(folder: Path, policy: OnLapse) -> Seen:
    """Admission, before its commit: the retry is bound by the route of its own moment."""
    stage = await Ledger.ready(folder, policy, admitted=False)
    await stage.crash("admit.before_commit", "admit", **JOB)
    await stage.look("left")
    async with await stage.store() as store:
        switched = await store.switch(stage.v2.digest, 1, now=0)
        stage.seen["then"] = words([switched, await store.admit(**JOB)])
    await stage.finish()
    return stage.seen


async def vc2(folder: Path, policy: OnLapse) -> Seen:
    """Admission, after its commit: the retry is a replay, still bound to V1."""
    stage = await Ledger.ready(folder, policy, admitted=False)
    await stage.crash("admit.after_commit", "admit", **JOB)
    await stage.look("left")
    async with await stage.store() as store:
        switched = await store.switch(stage.v2.digest, 1, now=0)
        stage.seen["then"] = words([switched, await store.admit(**JOB)])
    await stage.finish()
    return stage.seen


async def vc3(folder: Path, policy: OnLapse) -> Seen:
    """Claim, before its commit: no ticket was used."""
    stage = await Ledger.ready(folder, policy)
    await stage.crash("claim.before_commit", "claim", limit=1, worker=stage.dead, now=0)
    await stage.look("left")
    async with await stage.store() as store:
        stage.seen["then"] = [(await take(store, stage.living, 0)).ticket]
    await stage.look("end")
    return stage.seen


async def vc4(folder: Path, policy: OnLapse) -> Seen:
    """Claim, after its commit: in flight, not to be migrated, until it is freed."""
    stage = await Ledger.ready(folder, policy)
    await stage.crash("claim.after_commit", "claim", limit=1, worker=stage.dead, now=0)
    await stage.look("left")
    async with await stage.store() as store:
        answers = words([await store.migrate("job", 0, stage.v2.digest, "agreed", now=0)])
        answers += await stage.free(store)
        answers += words(
            [
                await store.migrate("job", 0, stage.v2.digest, "agreed", effects_checked=checked, now=LAPSED)
                for checked in (False, True)
            ]
        )
        stage.seen["then"] = answers
    await stage.finish()
    return stage.seen


async def stepping(folder: Path, policy: OnLapse, at: str) -> tuple[Ledger, Claim]:
    """The commit of step 0 ends at the point."""
    stage = await Ledger.ready(folder, policy)
    async with await stage.store() as store:
        claim = await take(store, stage.dead, 0)
    value = credit(stage.v1, 0, UNITS)
    await stage.crash(at, "commit_step", token=claim.token, value=value, worker=stage.dead, now=0)
    await stage.look("left")
    return stage, claim


async def late(stage: Ledger, store: Store, token: Token) -> list[str]:
    """The dead worker's commit, after all."""
    return words([await store.commit_step(token, 10, worker=stage.dead, now=LAPSED)])


async def uncommitted(folder: Path, policy: OnLapse, at: str) -> Seen:
    """Nothing of step 0 is there; freed, it is done again, and the old token is stale."""
    stage, claim = await stepping(folder, policy, at)
    async with await stage.store() as store:
        freed = await stage.free(store)
        again = await take(store, stage.living, LAPSED)
        stage.seen["then"] = freed + await late(stage, store, claim.token)
        value = credit(stage.v1, 0, UNITS)
        stage.seen["then"] += words([await store.commit_step(again.token, value, worker=stage.living, now=LAPSED)])
    await stage.finish()
    return stage.seen


async def vc5(folder: Path, policy: OnLapse) -> Seen:
    """Step 0: the effect is inserted."""
    return await uncommitted(folder, policy, "commit_step.effects")


async def vc6(folder: Path, policy: OnLapse) -> Seen:
    """Step 0: the cursor is moved too, before the commit."""
    return await uncommitted(folder, policy, "commit_step.before_commit")


async def vc7(folder: Path, policy: OnLapse) -> Seen:
    """Step 0, after its commit: it goes on at step 1 of V1, though the route is on V2."""
    stage, claim = await stepping(folder, policy, "commit_step.after_commit")
    async with await stage.store() as store:
        stage.seen["then"] = await late(stage, store, claim.token)
        stage.seen["then"] += words([await store.switch(stage.v2.digest, 1, now=LAPSED)])
    await stage.finish()
    return stage.seen


async def switching(folder: Path, policy: OnLapse, at: str) -> Seen:
    """The switch to V2 ends at the point; it is asked for again."""
    stage = await Ledger.ready(folder, policy)
    await stage.look("before")
    await stage.crash(at, "switch", digest=stage.v2.digest, expected_revision=1, now=0)
    await stage.look("left")
    async with await stage.store() as store:
        stage.seen["then"] = words([await store.switch(stage.v2.digest, 1, now=0)])
    await stage.finish()
    return stage.seen


async def vc8(folder: Path, policy: OnLapse) -> Seen:
    """Switch, before its commit."""
    return await switching(folder, policy, "switch.before_commit")


async def vc9(folder: Path, policy: OnLapse) -> Seen:
    """Switch, after its commit."""
    return await switching(folder, policy, "switch.after_commit")


async def migrating(folder: Path, policy: OnLapse, at: str) -> Seen:
    """The migration to V2 ends at the point; it is asked for again."""
    stage = await Ledger.ready(folder, policy)
    await stage.look("before")
    await stage.crash(at, "migrate", job="job", binding_revision=0, digest=stage.v2.digest, reason="agreed", now=0)
    await stage.look("left")
    async with await stage.store() as store:
        stage.seen["then"] = words([await store.migrate("job", 0, stage.v2.digest, "agreed", now=0)])
    await stage.finish()
    return stage.seen


async def vc10(folder: Path, policy: OnLapse) -> Seen:
    """Migrate: the audit row is inserted."""
    return await migrating(folder, policy, "migrate.audit")


async def vc11(folder: Path, policy: OnLapse) -> Seen:
    """Migrate: the binding is changed too, before the commit."""
    return await migrating(folder, policy, "migrate.before_commit")


async def vc12(folder: Path, policy: OnLapse) -> Seen:
    """Migrate, after its commit."""
    return await migrating(folder, policy, "migrate.after_commit")


STEPS = {"VC5": vc5, "VC6": vc6, "VC7": vc7}
ITEMS = {
    "VC1": vc1,
    "VC2": vc2,
    "VC3": vc3,
    "VC4": vc4,
    "VC8": vc8,
    "VC9": vc9,
    "VC10": vc10,
    "VC11": vc11,
    "VC12": vc12,
}

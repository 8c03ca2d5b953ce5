"""Races of real processes behind one gate. What is kept are invariants, never who won."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demos.scenarios import gate
from demos.scenarios.stage import TASK, Seen, Stage, points, run_points, take, total
from demos.scenarios.world import RELAY, words
from runtime.protocol.records import Worker
from runtime.protocol.verdicts import OnLapse

EIGHT = 8
TWELVE = 12
UNITS = {"units": 10}


def verdicts(answers: Sequence[Any]) -> list[str]:
    """The words of answers, sorted, since their order is an accident."""
    return sorted(answer["verdict"] for answer in answers)


def claims(answers: Sequence[Any]) -> list[Any]:
    """All claims of the answers, by ticket."""
    return sorted((claim for answer in answers for claim in answer["claims"]), key=lambda claim: claim["ticket"])


def claiming(count: int, *manifests: Any) -> list[gate.Call]:
    """One claim for each of so many workers."""
    return [
        ("claim", {"limit": 1, "worker": Worker.declaring(f"worker-{number}", *manifests), "now": 0})
        for number in range(count)
    ]


async def r45(folder: Path) -> Seen:
    """Eight flows with one ready head each, eight processes claim one each."""
    stage = Stage(folder)
    await stage.define(RELAY)
    async with await stage.store() as store:
        for flow in "abcdefgh":
            await store.admit("relay", f"{flow}1", {"delta": 10}, flow=flow, now=0)
    found = claims(await gate.race(stage.path, claiming(EIGHT, RELAY)))
    return {
        "different jobs": len({claim["token"]["job"] for claim in found}) == EIGHT,
        "tickets": [claim["ticket"] for claim in found],
        "generations": [claim["token"]["generation"] for claim in found],
    }


async def r46(folder: Path) -> Seen:
    """One flow with eight ready events, eight processes, eight times."""
    stage = Stage(folder)
    await stage.define(RELAY)
    committer = Worker.declaring("committer", RELAY)
    seen: Seen = {"claims in each race": [], "order": [], "tickets": []}
    async with await stage.store() as store, gate.children(stage.path, EIGHT) as family:
        for number in range(1, EIGHT + 1):
            await store.admit("relay", f"a{number}", {"delta": 10}, flow="a", now=0)
        for _ in range(EIGHT):
            found = claims(await gate.gated(family, claiming(EIGHT, RELAY)))
            seen["claims in each race"].append(len(found))
            seen["order"] += [claim["token"]["job"] for claim in found]
            seen["tickets"] += [claim["ticket"] for claim in found]
            for claim in found:
                await store.commit_step(gate.token(claim), "accepted", worker=committer, now=0)
    return seen


async def d20(folder: Path) -> Seen:
    """Twelve drains at version 0."""
    stage = Stage(folder)
    await stage.define(TASK)
    calls: list[gate.Call] = [("transition", {"action": "drain", "expected_version": 0, "now": 0})] * TWELVE
    found = verdicts(await gate.race(stage.path, calls))
    async with await stage.store() as store:
        photo = await store.snapshot()
    return {"verdicts": found, "mode": str(photo.mode), "version": photo.version}


async def d21(folder: Path) -> Seen:
    """Twelve new identities against one drain."""
    stage = Stage(folder)
    await stage.define(TASK)
    worker = Worker.declaring("worker", TASK)
    calls: list[gate.Call] = [
        ("admit", {"workflow": "task", "id": f"job-{number}", "payload": {}, "now": 0}) for number in range(TWELVE)
    ]
    calls.insert(TWELVE // 2, ("transition", {"action": "drain", "expected_version": 0, "now": 0}))
    found = verdicts(await gate.race(stage.path, calls))
    accepted = found.count("accepted")
    async with await stage.store() as store:
        photo = await store.snapshot()
        unfinished = sum(photo.unfinished_by_definition.values())
        later = await store.admit("task", "later", {}, now=0)
        too_early = await store.transition("pause", 1, now=0)
        for _ in range(accepted):
            await store.commit_step((await take(store, worker, 0)).token, 1, worker=worker, now=0)
        end = too_early if accepted == 0 else await store.transition("pause", 1, now=0)
    return {
        "each accepted or closed": accepted + found.count("closed") == TWELVE,
        "exactly one draining": found.count("draining") == 1,
        "accepted = unfinished in the file": accepted == unfinished,
        "a later identity": str(later.verdict),
        "busy while unfinished": (str(too_early.verdict) == "busy") == (unfinished > 0),
        "at the end": str(end.verdict),
    }


async def v23(folder: Path) -> Seen:
    """Eight switchers at one revision."""
    stage = Stage(folder)
    first, second = points(OnLapse.HOLD)
    await stage.define(first, second)
    calls: list[gate.Call] = [
        ("switch", {"digest": (first, second)[number % 2].digest, "expected_revision": 1, "now": 0})
        for number in range(EIGHT)
    ]
    found = verdicts(await gate.race(stage.path, calls))
    async with await stage.store() as store:
        (route,) = (await store.snapshot()).routes
    return {"verdicts": found, "revision": route.revision}


async def v24(folder: Path) -> Seen:
    """Eight workers, one ready job."""
    stage = Stage(folder)
    first, second = points(OnLapse.HOLD)
    await stage.define(first, second)
    async with await stage.store() as store:
        await store.admit("points", "job", UNITS, now=0)
    found = claims(await gate.race(stage.path, claiming(EIGHT, first)))
    async with await stage.store() as store:
        worker = Worker.declaring("committer", first)
        answers = [await store.commit_step(gate.token(claim), 10, worker=worker, now=0) for claim in found]
        steps = words(answers) + await run_points(store, worker, 0)
        return {
            "generations": [claim["token"]["generation"] for claim in found],
            "steps": steps,
            "total": await total(store, "job"),
        }


async def v25(folder: Path) -> Seen:
    """Admissions against a switch: each job is bound to one definition, whole."""
    stage = Stage(folder)
    first, second = points(OnLapse.HOLD)
    await stage.define(first, second)
    names = [f"job-{number}" for number in range(EIGHT)]
    calls: list[gate.Call] = [
        ("admit", {"workflow": "points", "id": name, "payload": UNITS, "now": 0}) for name in names
    ]
    calls.insert(EIGHT // 2, ("switch", {"digest": second.digest, "expected_revision": 1, "now": 0}))
    found = verdicts(await gate.race(stage.path, calls))
    worth = {first.digest: 11, second.digest: 13}
    async with await stage.store() as store:
        await run_points(store, Worker.declaring("both", first, second), 0)
        records = [await store.job(name) for name in names]
        whole = [
            record is not None
            and record.accepted_digest == record.current_digest
            and await total(store, record.id) == worth[record.accepted_digest]
            for record in records
        ]
    return {"verdicts": found, "each bound to one definition and worth it": whole}


async def v26(folder: Path) -> Seen:
    """A claim by a worker of V1 alone against a migration to V2: two legal ends."""
    stage = Stage(folder)
    first, second = points(OnLapse.HOLD)
    await stage.define(first, second)
    async with await stage.store() as store:
        await store.admit("points", "job", UNITS, now=0)
    old = Worker.declaring("old", first)
    move = {"job": "job", "binding_revision": 0, "digest": second.digest, "reason": "agreed", "now": 0}
    claimed, moved = await gate.race(stage.path, [("claim", {"limit": 1, "worker": old, "now": 0}), ("migrate", move)])
    migrated = moved["verdict"] == "migrated"
    async with await stage.store() as store:
        audits = [row for row in await store.audit(job="job") if row.verb == "migrate"]
        record = await store.job("job")
        for claim in claimed["claims"]:
            await store.commit_step(gate.token(claim), 10, worker=old, now=0)
        await run_points(store, Worker.declaring("both", first, second), 0)
        worth = await total(store, "job")
    assert record is not None
    return {
        "one of two legal ends": (moved["verdict"], len(claimed["claims"])) in (("migrated", 0), ("refused", 1)),
        "audit and binding agree": len(audits) == record.binding_revision == int(migrated),
        "the state agrees": str(record.state) == ("ready" if migrated else "inflight"),
        "the end is worth": worth == (13 if migrated else 11),
    }


ITEMS = {"R45": r45, "R46": r46, "D20": d20, "D21": d21, "V23": v23, "V24": v24, "V25": v25, "V26": v26}

"""Races of real processes behind one gate: invariants are checked, never who won."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from demos.scenarios import gate, races
from demos.scenarios.stage import LEASE, TASK, Stage, credit, points, run_points, take, total
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store
from tests.crash.invariants import check

UNITS = {"units": 10}
ROUNDS = 40
PROCESSES = 12
LAPSES = 15


def whole(folder: Path) -> bool:
    """The file that a race left breaks no invariant."""
    assert check(folder / "queue.db") == []
    return True


async def test_r45_eight_processes_claim_from_eight_flows(tmp_path: Path) -> None:
    seen = await races.r45(tmp_path)
    assert seen == {"different jobs": True, "tickets": [*range(1, 9)], "generations": [1] * 8}
    assert whole(tmp_path)


async def test_r46_eight_processes_claim_from_one_flow_of_eight_events(tmp_path: Path) -> None:
    seen = await races.r46(tmp_path)
    assert seen == {
        "claims in each race": [1] * 8,
        "order": [f"a{number}" for number in range(1, 9)],
        "tickets": [*range(1, 9)],
    }
    assert whole(tmp_path)


async def test_d20_of_twelve_drains_one_shuts_the_door(tmp_path: Path) -> None:
    seen = await races.d20(tmp_path)
    assert seen == {"verdicts": ["draining"] + ["stale"] * 11, "mode": "draining", "version": 1}
    assert whole(tmp_path)


async def test_d21_twelve_new_identities_against_one_drain(tmp_path: Path) -> None:
    seen = await races.d21(tmp_path)
    assert seen == {
        "each accepted or closed": True,
        "exactly one draining": True,
        "accepted = unfinished in the file": True,
        "a later identity": "closed",
        "busy while unfinished": True,
        "at the end": "paused",
    }
    assert whole(tmp_path)


async def test_d9_two_processes_with_one_place_of_capacity_left(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    await stage.define(TASK)
    async with await stage.store() as store:
        await store.set("capacity", 2, "one place left", now=0)
        await store.admit("task", "first", {}, now=0)
    calls: list[gate.Call] = [("admit", {"workflow": "task", "id": name, "payload": {}, "now": 0}) for name in "ab"]
    assert races.verdicts(await gate.race(stage.path, calls)) == ["accepted", "full"]
    assert whole(tmp_path)


async def test_v23_of_eight_switchers_one_switches(tmp_path: Path) -> None:
    assert await races.v23(tmp_path) == {"verdicts": ["stale"] * 7 + ["switched"], "revision": 2}
    assert whole(tmp_path)


async def test_v24_of_eight_workers_one_gets_the_ready_job(tmp_path: Path) -> None:
    assert await races.v24(tmp_path) == {"generations": [1], "steps": ["advanced", "done"], "total": 11}
    assert whole(tmp_path)


async def test_v25_an_admission_racing_a_switch_is_bound_to_one_definition_whole(tmp_path: Path) -> None:
    seen = await races.v25(tmp_path)
    assert seen == {
        "verdicts": ["accepted"] * 8 + ["switched"],
        "each bound to one definition and worth it": [True] * 8,
    }
    assert whole(tmp_path)


async def test_v26_a_claim_racing_a_migration_has_two_legal_ends(tmp_path: Path) -> None:
    seen = await races.v26(tmp_path)
    assert set(seen.values()) == {True}, seen
    assert whole(tmp_path)


class Mixture:
    """Twelve processes that claim, migrate and switch, round after round, over one file."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.random = random.Random(seed)
        self.first, self.second = points(OnLapse.HOLD)
        self.both = Worker.declaring("both", self.first, self.second)

    async def admit(self, number: int) -> list[str]:
        """Four new jobs."""
        names = [f"job-{number}-{place}" for place in range(4)]
        for name in names:
            assert (await self.store.admit("points", name, UNITS, now=0)).verdict == "accepted"
        return names

    async def calls(self, names: list[str]) -> list[gate.Call]:
        """Six claims, four migrations, two switches, in an order of chance."""
        (route,) = (await self.store.snapshot()).routes
        other = self.second if route.digest == self.first.digest else self.first
        declared: list[tuple[Manifest, ...]] = [(self.first,), (self.second,), (self.first, self.second)]
        calls: list[gate.Call] = [
            ("claim", {"limit": 1, "worker": Worker.declaring(f"worker-{place}", *manifests), "now": 0})
            for place, manifests in enumerate(declared * 2)
        ]
        calls += [
            ("migrate", {"job": name, "binding_revision": 0, "digest": other.digest, "reason": "agreed", "now": 0})
            for name in names
        ]
        calls += [("switch", {"digest": other.digest, "expected_revision": route.revision, "now": 0})] * 2
        self.random.shuffle(calls)
        return calls

    def judge(self, calls: list[gate.Call], answers: list[Any]) -> None:
        """What must hold of the answers, whoever came first."""
        words: dict[str, list[str]] = {"migrate": [], "switch": []}
        taken: set[str] = set()
        for (verb, arguments), answer in zip(calls, answers, strict=True):
            if verb != "claim":
                words[verb].append(answer["verdict"])
                continue
            for claim in answer["claims"]:
                assert claim["token"]["digest"] in arguments["worker"].manifests
                assert claim["token"]["job"] not in taken, "one job was claimed twice"
                taken.add(claim["token"]["job"])
        assert sorted(words["switch"]) == ["stale", "switched"]
        assert set(words["migrate"]) <= {"migrated", "refused"}
        assert words["migrate"].count("refused") <= len(taken)

    async def finish(self, names: list[str], answers: list[Any]) -> None:
        """Every job to its end, worth what its definition says."""
        for answer in answers:
            for claim in answer.get("claims", ()):
                token = gate.token(claim)
                value = credit(self.both.manifests[token.digest], token.cursor, UNITS)
                assert (await self.store.commit_step(token, value, worker=self.both, now=0)).verdict == "advanced"
        await run_points(self.store, self.both, 0)
        worth = {self.first.digest: 11, self.second.digest: 13}
        for name in names:
            record = await self.store.job(name)
            assert record is not None
            assert record.state == "done"
            assert await total(self.store, name) == worth[record.current_digest]


async def test_forty_rounds_of_twelve_processes_that_claim_migrate_and_switch(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    await stage.define(*points(OnLapse.HOLD))
    async with await stage.store() as store, gate.children(stage.path, PROCESSES) as family:
        mixture = Mixture(store, seed=12)
        for number in range(ROUNDS):
            names = await mixture.admit(number)
            calls = await mixture.calls(names)
            answers = await gate.gated(family, calls)
            mixture.judge(calls, answers)
            assert whole(tmp_path)
            await mixture.finish(names, answers)
    assert whole(tmp_path)


async def test_a_lease_that_lapses_while_its_worker_commits(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    first, second = points(OnLapse.RETRY)
    await stage.define(first, second)
    owner, heir = Worker.declaring("owner", first), Worker.declaring("heir", first)
    late = {("stale", 0), ("expired", 0)}
    async with await stage.store() as store, gate.children(stage.path, 3) as family:
        for number in range(LAPSES):
            now, job = 100 * number, f"job-{number}"
            await store.admit("points", job, UNITS, now=now)
            token = (await take(store, owner, now)).token
            after = now + LEASE + 1
            in_time = number % 2 == 0
            tick = None if in_time else after
            commit: gate.Call = ("commit_step", {"token": token, "value": 10, "worker": owner, "now": tick})
            answer, claims, _ = await gate.gated(
                family, [commit, ("claim", {"limit": 1, "worker": heir, "now": after}), ("sweep", {"now": after})]
            )
            (claim,) = claims["claims"]
            taken = gate.token(claim)
            assert (answer["verdict"], taken.cursor) in (late | {("advanced", 1)} if in_time else late)
            value = credit(first, taken.cursor, UNITS)
            assert (await store.commit_step(taken, value, worker=heir, now=after)).verdict in ("advanced", "done")
            await run_points(store, heir, after)
            assert await total(store, job) == 11
            assert whole(tmp_path)


async def test_eight_processes_that_open_one_new_file_agree_on_one_store(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    path.touch(0o600)
    calls: list[gate.Call] = [("admit", {"workflow": "none", "id": "a", "payload": {}})] * 8
    answers = await gate.race(path, calls)
    assert {answer["error"] for answer in answers} == {"NoRoute"}
    assert whole(tmp_path)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("select count(*), count(distinct store_id) from keepstep_control").fetchone() == (1, 1)

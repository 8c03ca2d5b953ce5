"""What the process scenarios share: a folder with two files that are opened anew for each look, and what was seen."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from demos.scenarios import gate
from demos.scenarios.world import STORE_ID, step
from runtime.protocol.canonical import decode
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Claim, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.inbox import Inbox
from runtime.store.store import Store

LEASE = 5
LAPSED = LEASE + 1
WALL = ("created_at", "at_ms", "started_at_ms", "seen_at_ms")
Seen = dict[str, Any]

TASK = Manifest("task", "note/1", (step("note", "note", OnLapse.HOLD),))


def tables(dump: Mapping[str, Sequence[Sequence[Any]]]) -> Seen:
    """A store's tables as rows by column, by their short names, without what is wall time."""
    found: Seen = {}
    for table, (columns, *rows) in dump.items():
        kept = [column for column in columns if column not in WALL]
        found[table.removeprefix("keepstep_")] = [
            {column: value for column, value in zip(columns, row, strict=True) if column in kept} for row in rows
        ]
    return found


def points(policy: OnLapse) -> tuple[Manifest, Manifest]:
    """V1 = base then bonus 1; V2 = bonus 3 then base."""
    base = step("base", "credit", policy, params={"per_unit": 1})
    first = Manifest("points", "local-ledger/1", (base, step("bonus", "credit", policy, params={"flat": 1})))
    second = Manifest("points", "local-ledger/1", (step("bonus", "credit", policy, params={"flat": 3}), base))
    return first, second


def credit(manifest: Manifest, cursor: int, payload: Any) -> int:
    """What the step at `cursor` is worth."""
    params = manifest.steps[cursor].params
    return int(payload["units"] * params.get("per_unit", 0) + params.get("flat", 0))


class Stage:
    """One scenario: its folder, its two files, and what was seen of them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "queue.db"
        self.receiver = folder / "receiver.db"
        self.seen: Seen = {}

    async def store(self) -> Store:
        """The store on a new connection; an `async with` closes it."""
        return await Store.open(self.path, clock="logical", store_id=STORE_ID)

    async def inbox(self) -> Inbox:
        """The receiver's file on a new connection."""
        return await Inbox.open(self.receiver)

    async def define(self, *manifests: Manifest) -> None:
        """Register manifests and set the route to the first."""
        async with await self.store() as store:
            await store.register_many(manifests, now=0)
            await store.switch(manifests[0].digest, 0, now=0)

    async def crash(self, at: str, verb: str, **arguments: Any) -> None:
        """A child ends at the point; its exit code is seen."""
        self.seen["exit"] = await gate.crash(self.path, at, verb, **arguments)

    async def look(self, name: str) -> None:
        """Both files as they stand, read on new connections."""
        async with await self.store() as store:
            self.seen[name] = {"queue": tables(await store.dump())}
        if self.receiver.exists():
            async with await self.inbox() as inbox:
                self.seen[name]["receiver"] = await inbox.dump()


async def take(store: Store, worker: Worker, now: int) -> Claim:
    """The one claim that is due."""
    (claim,) = (await store.claim(1, worker, now=now)).claims
    return claim


async def run_points(store: Store, worker: Worker, now: int) -> list[str]:
    """Claim and commit what the worker declares until nothing is due; the verdicts."""
    found: list[str] = []
    while claims := (await store.claim(1, worker, now=now)).claims:
        for claim in claims:
            value = credit(worker.manifests[claim.token.digest], claim.token.cursor, decode(claim.payload))
            found.append(str((await store.commit_step(claim.token, value, worker=worker, now=now)).verdict))
    return found


async def total(store: Store, job: str) -> int:
    """What a job's committed steps add up to."""
    return sum(effect.value for effect in await store.effects(job))

"""A1: random operations, one seed after the other, and every invariant after each of them."""

import random
from collections import Counter
from pathlib import Path

import anyio

from runtime.protocol.records import JobRecord, Token
from runtime.store.store import Store
from tests.audit.ledger import BOTH, NEW, OLD, UNITS, V1, V2, V3, Broken, Ledger, value

WORKERS = (BOTH, BOTH, OLD, NEW)
CHOICES = {
    "admit": 12,
    "again": 4,
    "differently": 3,
    "claim": 24,
    "commit": 17,
    "late": 6,
    "fail": 12,
    "recover": 4,
    "redrive": 3,
    "switch": 3,
    "migrate": 6,
    "time": 6,
}


class Audit:
    """One seed's walk over one store."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.chance = random.Random(seed)
        self.ledger = Ledger(store)
        self.tick = 0
        self.names: list[str] = []
        self.open: list[Token] = []
        self.spent: list[Token] = []
        self.heard: Counter[str] = Counter()

    async def run(self, operations: int) -> None:
        """The walk. The seed fixes which operations are chosen."""
        for manifest in (V1, V2, V3):
            await self.store.register(manifest, now=0)
        await self.store.switch(V1.digest, 0, now=0)
        words, weights = list(CHOICES), list(CHOICES.values())
        for _ in range(operations):
            word = self.chance.choices(words, weights)[0]
            verdict = await getattr(self, word)()
            self.heard[f"{word} {verdict}"] += 1
            await self.ledger.check(self.chance.randrange(1_000))

    def expect(self, verdict: str, *allowed: str) -> str:
        """A verdict that is not among these is a fault of the store."""
        if verdict not in allowed:
            raise Broken(f"{verdict!r} was answered where one of {allowed} is right")
        return str(verdict)

    def job(self, state: str | None = None) -> JobRecord | None:
        """A job; of five picks four are in that state, if any is."""
        jobs = list(self.ledger.jobs.values())
        fitting = [job for job in jobs if job.state == state] if self.chance.random() < 0.8 else []
        return self.chance.choice(fitting or jobs) if jobs else None

    async def admit(self) -> str:
        name = f"j{len(self.names)}"
        flow = self.chance.choice((None, "a", "b", "c"))
        width = 2 if flow == "c" else None
        answer = await self.store.admit("points", name, {"units": UNITS}, flow=flow, width=width, now=self.tick)
        self.names.append(name)
        return self.expect(answer.verdict, "accepted")

    async def again(self) -> str:
        known = self.job()
        if known is None:
            return "nothing"
        answer = await self.store.admit("points", known.id, {"units": UNITS}, flow=known.flow, now=self.tick)
        return self.expect(answer.verdict, "replay")

    async def differently(self) -> str:
        known = self.job()
        if known is None:
            return "nothing"
        units, flow = self.chance.choice(((UNITS + 1, known.flow), (UNITS, "elsewhere")))
        answer = await self.store.admit("points", known.id, {"units": units}, flow=flow, now=self.tick)
        return self.expect(answer.verdict, "conflict")

    async def claim(self) -> str:
        worker = self.chance.choice(WORKERS)
        answer = await self.store.claim(self.chance.randint(1, 3), worker, now=self.tick)
        for claim in answer.claims:
            if claim.token.digest not in worker.manifests:
                raise Broken(f"{worker.id} was given {claim.token}, which it does not declare")
        self.open.extend(claim.token for claim in answer.claims)
        return str(len(answer.claims))

    def token(self) -> Token | None:
        if not self.open:
            return None
        token = self.open.pop(self.chance.randrange(len(self.open)))
        self.spent.append(token)
        return token

    async def commit(self) -> str:
        token = self.token()
        if token is None:
            return "nothing"
        credit = value(token.digest, token.cursor)
        answer = await self.store.commit_step(token, credit, worker=BOTH, now=self.tick)
        return self.expect(answer.verdict, "advanced", "done", "stale", "expired")

    async def late(self) -> str:
        """A callback that was delivered before must change nothing."""
        if not self.spent:
            return "nothing"
        token = self.chance.choice(self.spent)
        credit = value(token.digest, token.cursor)
        answer = await self.store.commit_step(token, credit, worker=BOTH, now=self.tick)
        return self.expect(answer.verdict, "stale", "expired")

    async def fail(self) -> str:
        token = self.token()
        if token is None:
            return "nothing"
        answer = await self.store.fail(token, "the audit failed it", now=self.tick)
        return self.expect(answer.verdict, "retry", "quarantined", "stale", "expired")

    async def recover(self) -> str:
        known = self.job("inflight")
        if known is None:
            return "nothing"
        answer = await self.store.recover(known.id, known.generation, "the audit says so", now=self.tick)
        return self.expect(answer.verdict, "recovered" if known.state == "inflight" else "refused")

    async def redrive(self) -> str:
        known = self.job("quarantined")
        if known is None:
            return "nothing"
        answer = await self.store.redrive(known.id, known.generation, "the audit says so", now=self.tick)
        return self.expect(answer.verdict, "redriven" if known.state == "quarantined" else "refused")

    async def switch(self) -> str:
        (route,) = (await self.store.snapshot()).routes
        late = self.chance.random() < 0.3
        target = self.chance.choice((V1, V2, V3)).digest
        answer = await self.store.switch(target, route.revision - late, now=self.tick)
        return self.expect(answer.verdict, "stale" if late else "switched")

    async def migrate(self) -> str:
        known = self.job("ready")
        if known is None:
            return "nothing"
        target = self.chance.choice((V1, V2, V3)).digest
        answer = await self.store.migrate(
            known.id, known.binding_revision, target, "agreed", effects_checked=True, now=self.tick
        )
        right = known.state == "ready" and known.cursor == 0 and target != known.current_digest
        return self.expect(answer.verdict, "migrated" if right else "refused")

    async def time(self) -> str:
        self.tick += self.chance.choice((1, 2, 6, 20))
        return str(await self.store.sweep(now=self.tick) > 0)


def one_seed(folder: Path, operations: int, seed: int) -> tuple[int, Counter[str]]:
    """A seed's walk over a file of its own: the number of checks, and what was heard."""
    path = folder / f"seed{seed}.db"
    result = anyio.run(walk, path, seed, operations)
    for part in folder.glob(f"{path.name}*"):
        part.unlink()
    return result


async def walk(path: Path, seed: int, operations: int) -> tuple[int, Counter[str]]:
    """The walk itself."""
    async with await Store.open(path, clock="logical", store_id="audit", durability="normal") as store:
        audit = Audit(store, seed)
        try:
            await audit.run(operations)
        except Exception as error:
            error.add_note(f"seed {seed}, after {audit.ledger.checks} operations, tick {audit.tick}")
            raise
    return audit.ledger.checks, audit.heard

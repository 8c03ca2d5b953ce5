"""The small world that every scenario plays in: a store and a receiver on a logical clock, fixed ids, short verbs."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from runtime.protocol.canonical import decode
from runtime.protocol.errors import KeepstepError
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.receive import Receipt
from runtime.protocol.records import Answer, Claim, JobRecord, Token, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.inbox import Inbox
from runtime.store.store import Store
from workers.relay import FOLLOWS, Relay, check_event, reason

Facts = dict[str, Any]
Item = Callable[["World"], Awaitable[Facts]]
STORE_ID = "store-1"


def step(name: str, op: str, on_lapse: OnLapse = OnLapse.RETRY, **policy: Any) -> Step:
    """A step with the scenarios' policy: budget 3, base 2, ceiling 8, lease 5, time limit 1,000."""
    chosen: dict[str, Any] = {"budget": 3, "base": 2, "ceiling": 8, "lease": 5, "time_limit": 1_000, **policy}
    return Step(name=name, op=op, on_lapse=on_lapse, **chosen)


RELAY = Manifest("relay", "relay/1", (step("deliver", "deliver"),))


class World:
    """One scenario's two files. Every answer becomes its word; `tick` None means the stored tick."""

    def __init__(self, folder: Path, store: Store, inbox: Inbox) -> None:
        self.queue = folder / "queue.db"
        self.receiver = folder / "receiver.db"
        self.store = store
        self.inbox = inbox
        self.relay = Relay(inbox)

    # what the scenarios ask for most

    async def define(self, *manifests: Manifest, revision: int = 0) -> None:
        """Register all, and send new jobs of the first one's workflow to it."""
        await self.store.register_many(manifests)
        await self.store.switch(manifests[0].digest, revision)

    async def event(self, name: str, delta: object = 10, flow: str | None = None, now: int | None = None) -> str:
        """Admit relay event `a2`: flow a unless given; the word."""
        return word(await self.admit_event(name, delta, flow, now))

    async def admit_event(self, name: str, delta: object, flow: str | None = None, now: int | None = None) -> Answer:
        """Admit a relay event as an app does: the payload is checked first."""
        payload = {"delta": delta}
        check_event(payload)
        return await self.store.admit("relay", name, payload, flow=flow or name.rstrip("0123456789"), now=now)

    async def events(self, flow: str, count: int, first: int = 1) -> None:
        """Admit that many events of one flow."""
        for number in range(first, first + count):
            await self.event(f"{flow}{number}", flow=flow)

    async def claim(self, worker: Worker, now: int | None = None) -> Claim | None:
        """One claim, or None."""
        claims = (await self.store.claim(1, worker, now=now)).claims
        return claims[0] if claims else None

    async def take(self, worker: Worker, now: int | None = None) -> Claim:
        """One claim that must be there."""
        claim = await self.claim(worker, now)
        assert claim is not None, f"a claim was expected at {now}"
        return claim

    async def name_of_next(self, worker: Worker, now: int | None = None) -> str | None:
        """The id of the job that a claim takes, or None."""
        claim = await self.claim(worker, now)
        return claim.token.job if claim else None

    async def commit(self, claim: Claim | Token, worker: Worker, value: Any = None, now: int | None = None) -> str:
        """Commit a step; the word."""
        return word(await self.store.commit_step(token(claim), value, worker=worker, now=now))

    async def fail(self, claim: Claim | Token, why: str = "no answer", now: int | None = None) -> str:
        """Fail an attempt; the word."""
        return word(await self.store.fail(token(claim), why, now=now))

    async def work(self, worker: Worker, times: int, now: int | None = None) -> list[str | None]:
        """Claim and commit so many times; what was claimed, None for an empty claim."""
        order: list[str | None] = []
        for _ in range(times):
            claim = await self.claim(worker, now)
            order.append(claim.token.job if claim else None)
            if claim is not None:
                await self.commit(claim, worker, now=now)
        return order

    async def send(self, claim: Claim) -> Receipt:
        """What the receiver says of a claimed event."""
        return await self.relay.deliver(claim.token.job, claim.flow, claim.seq, decode(claim.payload))

    async def finish(self, claim: Claim, receipt: Receipt, worker: Worker, now: int | None = None) -> str:
        """End the delivering step by what the receiver said; the word."""
        verb = FOLLOWS[receipt.verdict]
        if verb == "commit_step":
            return await self.commit(claim, worker, {"received": str(receipt.verdict)}, now)
        callback = self.store.fail if verb == "fail" else self.store.quarantine
        return word(await callback(claim.token, reason(receipt), worker=worker.id, now=now))

    async def deliver(self, worker: Worker, now: int | None = None) -> list[str] | None:
        """Claim, send, finish: event, the receiver's word, the job's word; None for an empty claim."""
        claim = await self.claim(worker, now)
        if claim is None:
            return None
        receipt = await self.send(claim)
        return [claim.token.job, str(receipt.verdict), await self.finish(claim, receipt, worker, now)]

    # looking

    async def job(self, name: str) -> JobRecord:
        """A job that must be there."""
        record = await self.store.job(name)
        assert record is not None, f"job {name} was expected"
        return record

    async def fields(self, name: str, *names: str) -> list[Any]:
        """Some fields of a job."""
        record = await self.job(name)
        return [plain(getattr(record, field)) for field in names]

    async def history(self, name: str) -> list[list[Any]]:
        """A job's history: what, generation, at, why, times."""
        return [[row.what, row.generation, row.at, row.why, row.times] for row in await self.store.history(name)]

    async def audits(self, name: str) -> list[Any]:
        """A job's audit rows as plain data."""
        return [plain(row) for row in await self.store.audit(job=name)]

    async def effects(self, name: str) -> list[list[Any]]:
        """A job's effects: step, name, digest, value."""
        return [[row.step, row.name, row.digest, row.value] for row in await self.store.effects(name)]

    async def served(self, *flows: str) -> list[int]:
        """The last ticket of each flow."""
        found = {flow.name: flow.served for flow in (await self.store.snapshot()).flows}
        return [found[flow] for flow in flows]

    async def ticket(self) -> int:
        """The global ticket."""
        return (await self.store.snapshot()).ticket

    async def tables(self) -> Facts:
        """The queue's tables, rows as objects, without the wall times of the file's making."""
        found = plain(await self.store.dump())
        return {table: rows_of(rows) for table, rows in found.items() if table != "keepstep_schema"}

    async def photo(self) -> Facts:
        """Both files whole, but for the stored tick and the history rows that refused callbacks leave."""
        queue = await self.tables()
        for row in queue["keepstep_control"]:
            row.pop("tick")
        queue["keepstep_history"] = [row for row in queue["keepstep_history"] if row["what"] != "refused"]
        queue.pop("keepstep_worker")
        return {"queue": queue, "receiver": await self.inbox.dump()}

    async def error(self, call: Awaitable[object]) -> str:
        """The kind and the text of the error that a call raises; `none` if it raises none."""
        try:
            await call
        except KeepstepError as error:
            return f"{type(error).__name__}: {error}"
        return "none"


def word(answer: Answer) -> str:
    """An answer's verdict."""
    return str(answer.verdict)


def token(claim: Claim | Token) -> Token:
    """The token of a claim, or the token itself."""
    return claim.token if isinstance(claim, Claim) else claim


def rows_of(table: list[list[Any]]) -> list[Facts]:
    """A dumped table's rows as objects; `created_at` is a wall time and left out."""
    columns, *rows = table
    return [{name: value for name, value in zip(columns, row, strict=True) if name != "created_at"} for row in rows]


def plain(value: Any) -> Any:
    """Records as plain data."""
    return msgspec.to_builtins(value)


def words(answers: Sequence[Answer | Exception]) -> list[str]:
    """A batch's verdicts, or the kind of the error in an item's place."""
    return [word(answer) if isinstance(answer, Answer) else type(answer).__name__ for answer in answers]


@asynccontextmanager
async def world(folder: Path, max_delta: int = 1_000) -> AsyncIterator[World]:
    """A new world in that folder: queue.db and receiver.db."""
    async with (
        await Store.open(folder / "queue.db", clock="logical", store_id=STORE_ID) as store,
        await Inbox.open(folder / "receiver.db", max_delta=max_delta) as inbox,
    ):
        yield World(folder, store, inbox)


async def play(item: Item, folder: Path) -> Facts:
    """One scenario afresh: what it saw, and both files as they stand at its end."""
    place = folder / item.__name__
    place.mkdir(parents=True)
    async with world(place) as here:
        facts = await item(here)
        return {"facts": facts, "queue": await here.tables(), "receiver": await here.inbox.dump()}

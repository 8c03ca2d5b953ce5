"""A store and a runner made of memory, for the loops of a pool."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel

from runtime.protocol.errors import ItemError
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.ports import Outcome, Scope
from runtime.protocol.records import Answer, Callback, Claim, ClaimRequest, Claims, Commit, Renewal, Token, Worker
from runtime.protocol.verdicts import Mode, Verdict

MANIFEST = Manifest("points", "local/1", (Step("base", "credit"),))
WORKER = Worker.declaring("w1", MANIFEST)
WORDS = {
    "commits": ("commit_step", Verdict.DONE),
    "failures": ("fail", Verdict.RETRY),
    "releases": ("release", Verdict.RELEASED),
    "quarantines": ("quarantine", Verdict.QUARANTINED),
}


def claim(job: str, *, lease_ms: int = 30_000, generation: int = 1) -> Claim:
    """A claim of the one step of a job."""
    return Claim(Token(job, 0, generation, 0, MANIFEST.digest), "points", None, 1, "null", 1, 1, 0, lease_ms, 1)


class Desk:
    """Queued jobs are claimed in order. `faults` are raised by the next settles; `answers` replace a job's answer."""

    def __init__(self, *jobs: str, lease_ms: int = 30_000) -> None:
        self.queued = deque(jobs)
        self.lease_ms = lease_ms
        self.mode = Mode.OPEN
        self.next_due: int | None = None
        self.faults: deque[Exception | None] = deque()
        self.answers: dict[str, Any] = {}
        self.settled: list[dict[str, list[Any]]] = []
        self.limits: list[int] = []
        self.looks = 0
        self.moves = False
        self.on_settle: Callable[[], Awaitable[None]] | None = None
        self._listeners: list[Callable[[], None]] = []

    async def settle(
        self,
        *,
        commits: Sequence[Commit] = (),
        failures: Sequence[Callback] = (),
        releases: Sequence[Callback] = (),
        quarantines: Sequence[Callback] = (),
        claim: ClaimRequest | None = None,
    ) -> tuple[dict[str, list[Any]], Claims | None]:
        await anyio.lowlevel.checkpoint()
        if self.on_settle is not None:
            await self.on_settle()
        if claim is not None:
            self.limits.append(claim.limit)
        fault = self.faults.popleft() if self.faults else None
        if fault is not None:
            raise fault
        given: dict[str, Sequence[Any]] = {
            "commits": commits, "failures": failures, "releases": releases, "quarantines": quarantines
        }
        self.settled.append({room: list(items) for room, items in given.items() if items})
        answers = {WORDS[room][0]: [self._answer(item, room) for item in items] for room, items in given.items()}
        claims = self._claims(claim) if claim is not None else None
        for listener in tuple(self._listeners):
            listener()
        return answers, claims

    def admit(self, *jobs: str) -> None:
        """Jobs that this process commits."""
        self.queued.extend(jobs)
        for listener in tuple(self._listeners):
            listener()

    async def look(self, worker: Worker) -> tuple[Mode, bool, int | None]:
        self.looks += 1
        return self.mode, bool(self.queued), self.next_due

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    def moved(self) -> bool:
        moved, self.moves = self.moves, False
        return moved

    def done(self) -> list[str]:
        """The jobs whose commit was written, in order."""
        return [item.token.job for turn in self.settled for item in turn.get("commits", ())]

    def _claims(self, request: ClaimRequest) -> Claims:
        if self.mode is Mode.PAUSED:
            return Claims(self.mode, 0, ())
        jobs = [self.queued.popleft() for _ in range(min(request.limit, len(self.queued)))]
        found = tuple(claim(job, lease_ms=self.lease_ms) for job in jobs)
        return Claims(self.mode, 0, found, self.next_due)

    def _answer(self, item: Any, room: str) -> Any:
        return self.answers.pop(item.token.job, None) or Answer(WORDS[room][1])


class Runner:
    """Runs `handler` for every claim; counts how many run at once."""

    def __init__(self, handler: Callable[[Claim], Awaitable[object]]) -> None:
        self._handler = handler
        self.worker = WORKER
        self.running = 0
        self.most = 0
        self.started: list[str] = []
        self.follow: Outcome | None = None

    async def run(self, claim: Claim, scope: Scope) -> Outcome:
        self.started.append(claim.token.job)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            value = await self._handler(claim)
        finally:
            self.running -= 1
        return Outcome("commit_step", Commit(claim.token, value, WORKER))

    def abandoned(self, claim: Claim, reason: str) -> Outcome:
        return Outcome("release", Callback(claim.token, reason, WORKER.id))

    def overdue(self, claim: Claim) -> Outcome:
        raise AssertionError("nothing here has a time limit")

    def failed(self, claim: Claim, reason: str) -> Outcome:
        return Outcome("fail", Callback(claim.token, reason, WORKER.id))

    def after(self, claim: Claim, outcome: Outcome, error: ItemError) -> Outcome | None:
        return self.follow


class KeepersDesk:
    """What the keeper asks of its own store; every call is noted."""

    def __init__(self) -> None:
        self.renewed: list[str] = []
        self.verdicts: dict[str, Verdict] = {}
        self.said: list[str] = []
        self.due: int | None = None
        self.on_renew: Callable[[], None] = lambda: None

    async def renew_many(self, items: Sequence[Renewal]) -> list[Answer | ItemError]:
        self.renewed += [item.token.job for item in items]
        self.on_renew()
        return [Answer(self.verdicts.get(item.token.job, Verdict.RENEWED)) for item in items]

    async def announce(self, worker: Worker, *, host: str, pid: int, started_at_ms: int) -> None:
        self.said.append("announce")

    async def withdraw(self, worker: str) -> None:
        self.said.append("withdraw")

    async def look(self, worker: Worker) -> tuple[Mode, bool, int | None]:
        return Mode.OPEN, False, self.due

    async def sweep(self) -> int:
        self.said.append("sweep")
        return 1

    async def checkpoint(self) -> None:
        self.said.append("checkpoint")

    async def close(self) -> None:
        self.said.append("close")

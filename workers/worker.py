"""Worker: takes a claim, runs one attempt, hands over the outcome. The scheduler decides when."""

import os
import socket
import uuid
from types import TracebackType
from typing import Self

from runtime.protocol.canonical import cut
from runtime.protocol.errors import InvalidValue, ItemError, RegistryDamaged, Undeclared
from runtime.protocol.ports import Outcome, Scope
from runtime.protocol.records import Callback, Claim, Commit
from runtime.protocol.records import Worker as WorkerRecord
from workers.app import App
from workers.attempt import Rooms, begin, decide, out_of_time, run
from workers.findings import Finding, classify, refused
from workers.handlers import Bound
from workers.notes import logger, naming, note
from workers.ports import Source
from workers.processes import Processes
from workers.target import target_of
from workers.threads import Threads


class Worker:
    """An app's manifests, declared and run: what the scheduler's `Runner` port asks for.

    `source` reads for handlers (a Store does); `store_id` goes into idempotency keys; `clock` is the store's: on the
    wall clock a time limit is milliseconds, on the logical one it is not timed here. `target` is how processes import
    the app (`module:app`); without it the app is looked up where its handlers stand. Use it as `async with`, or call
    `aclose()`: it ends the processes of handlers. Raises `HandlerMismatch` unless every declared manifest fits the
    app's handlers.
    """

    def __init__(
        self,
        app: App,
        source: Source,
        *,
        store_id: str,
        id: str | None = None,  # noqa: A002  the record's own word
        concurrency: int = 32,
        clock: str = "wall",
        target: str | None = None,
    ) -> None:
        app.check()
        self.app = app
        self._record = WorkerRecord.declaring(id or new_id(), *app.manifests)
        self._steps = {manifest.digest: app.bind(manifest) for manifest in app.manifests}
        self._declared = dict(self._steps)
        self._dropped: dict[str, str] = {}
        self._interrupted: set[tuple[str, int]] = set()
        self._rooms = Rooms(
            source,
            store_id,
            wall=clock == "wall",
            threads=Threads(concurrency),
            processes=Processes(concurrency, target_of(app, target)),
        )

    @property
    def worker(self) -> WorkerRecord:
        """The worker's id and what it declares now."""
        return self._record

    async def run(self, claim: Claim, scope: Scope) -> Outcome:
        """One attempt in `scope`, whose deadline becomes the step's time limit. Raises only when it is cancelled, and
        then once its handler has ended."""
        try:
            bound = self._declared[claim.token.digest][claim.token.cursor]
        except (KeyError, IndexError):
            return self._unresolved(claim)
        context = begin(claim, bound, self._rooms)
        try:
            ending = await run(context, bound, self._rooms, scope)
        except BaseException:
            if context.begun:
                self._interrupted.add((claim.token.job, claim.token.generation))
            raise
        finding = classify(ending, hold=bound.hold)
        if isinstance(finding, Finding):
            note(claim, bound, finding)
        return decide(finding, claim, context, self._record)

    def overdue(self, claim: Claim) -> Outcome:
        """What becomes of a claim whose attempt was cancelled by its time limit."""
        bound = self._bound(claim)
        assert bound is not None, "only a handler of ours has a time limit"
        ending = out_of_time(bound, begun=self._had_begun(claim))
        finding = classify(ending, hold=bound.hold)
        assert isinstance(finding, Finding)
        return self._found(claim, finding)

    def failed(self, claim: Claim, reason: str) -> Outcome:
        """What becomes of a claim whose handler did what none may do."""
        self._had_begun(claim)
        return self._found(claim, Finding("fail", reason))

    def abandoned(self, claim: Claim, reason: str) -> Outcome:
        """What becomes of a claim whose attempt was cancelled: a release; under `hold`, once its handler has begun, a
        quarantine, since nobody knows what it did."""
        if self._had_begun(claim) and self._holds(claim):
            return self._callback(claim, "quarantine", f"outcome unknown: the handler was cancelled midway: {reason}")
        return self._callback(claim, "release", reason)

    def after(self, claim: Claim, outcome: Outcome, error: ItemError) -> Outcome | None:
        """What follows an outcome that the store answered with an error; None where nothing more can be said."""
        if isinstance(error, (RegistryDamaged, Undeclared)):
            self._drop(claim.token.digest, str(error))
            if outcome.verb != "commit_step":
                return None
            return self._callback(claim, "quarantine" if self._holds(claim) else "release", str(error))
        if not isinstance(outcome.item, Commit):
            logger.error("%s was refused: %s", outcome.verb, error, extra=naming(claim, None))
            return None
        finding = Finding("fail", str(error))
        if isinstance(error, InvalidValue):
            finding = refused(error)
        return self._found(claim, finding)

    async def aclose(self) -> None:
        """End the processes of handlers."""
        await self._rooms.processes.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _unresolved(self, claim: Claim) -> Outcome:
        """A claim without a handler: its own job's trouble and nobody else's."""
        digest, cursor = claim.token.digest, claim.token.cursor
        if digest in self._dropped:
            return self._callback(claim, "release", self._dropped[digest])
        what = f"has no step {cursor}" if digest in self._steps else "is not declared"
        finding = Finding("fail", f"worker {self._record.id!r} cannot run this step: definition {digest} {what} here")
        note(claim, None, finding)
        return self._callback(claim, finding.verb, finding.reason)

    def _drop(self, digest: str, reason: str) -> None:
        if digest in self._dropped:
            return
        self._dropped[digest] = reason
        self._declared.pop(digest, None)
        kept = {known: manifest for known, manifest in self._record.manifests.items() if known != digest}
        self._record = WorkerRecord(self._record.id, kept)
        logger.critical("worker %s no longer declares definition %s: %s", self._record.id, digest, reason)

    def _had_begun(self, claim: Claim) -> bool:
        """Whether the handler of a claim that was cancelled had begun; asked once."""
        key = (claim.token.job, claim.token.generation)
        begun = key in self._interrupted
        self._interrupted.discard(key)
        return begun

    def _found(self, claim: Claim, finding: Finding) -> Outcome:
        note(claim, self._bound(claim), finding)
        return self._callback(claim, finding.verb, finding.reason)

    def _bound(self, claim: Claim) -> Bound | None:
        steps = self._steps.get(claim.token.digest, ())
        return steps[claim.token.cursor] if claim.token.cursor < len(steps) else None

    def _holds(self, claim: Claim) -> bool:
        bound = self._bound(claim)
        return bound is not None and bound.hold

    def _callback(self, claim: Claim, verb: str, reason: str) -> Outcome:
        return Outcome(verb, Callback(claim.token, cut(reason), self._record.id))


def new_id() -> str:
    """A worker's id: the host, the process, and something random, since a process id comes back."""
    return f"{socket.gethostname()[:64] or 'host'}-{os.getpid()}-{uuid.uuid4().hex[:8]}"

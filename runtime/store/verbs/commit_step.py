"""commit_step: the fence, the registry, the handler's own writes, the effect and the cursor; all or nothing."""

import sqlite3
from collections.abc import Sequence

from runtime.protocol.canonical import Canonical, canonical, check_name
from runtime.protocol.errors import ItemError, RegistryDamaged, Undeclared, WriteFailed
from runtime.protocol.lifecycle import Facts, Phase
from runtime.protocol.records import Answer, Commit, Worker, Write
from runtime.protocol.verdicts import Verdict
from runtime.store import points
from runtime.store.guard import MARK
from runtime.store.sqlite import is_everybodys
from runtime.store.transaction import Transaction, as_json
from runtime.store.verbs.callbacks import NO_SUCH_JOB, Callbacks

ADVANCED = Answer(Verdict.ADVANCED)
DONE = Answer(Verdict.DONE)


def commit_step(tx: Transaction, items: Sequence[Commit]) -> list[Answer | ItemError]:
    """`advanced`, `done`, `stale`, `expired` or `unknown`; an item's own fault is an `ItemError`, and nothing of it is
    written."""
    fold = Fold(tx, items)
    answers: list[Answer | ItemError] = []
    for item in items:
        try:
            answers.append(fold.judge(item))
        except ItemError as error:
            answers.append(error)
    fold.write()
    return answers


class Fold:
    """The items in order, over facts that are read once."""

    def __init__(self, tx: Transaction, items: Sequence[Commit]) -> None:
        self.tx = tx
        self.callbacks = Callbacks(tx, [item.token for item in items])
        ids = sorted({facts.definition for facts in self.callbacks.facts.values()})
        self.registry: dict[int, bytes] = {
            row[0]: row[1] for row in tx.rows("commit_step.registry", {"ids": as_json(ids)})
        }
        self.worker: Worker | None = None
        self.sound: set[str] = set()
        self.effects: list[tuple[object, ...]] = []
        self.advanced: list[int] = []
        self.done: list[int] = []

    def judge(self, item: Commit) -> Answer:
        """One item; its writes are done here, under a savepoint, once the token is known to hold."""
        if item.worker is not self.worker:
            self._begin(item.worker)
        judged = self.callbacks.judge(item.token)
        if judged is None:
            return NO_SUCH_JOB
        facts, verdict = judged
        if verdict is not None:
            return self.callbacks.refuse(facts, item.token, item.worker.id, verdict)
        if item.token.digest not in self.sound:
            self._check_registry(item, facts)
        value = item.value.text if type(item.value) is Canonical else canonical(item.value, "value").decode()
        if item.writes:
            run_writes(self.tx, item.writes)
        row = (facts.id, facts.cursor, facts.definition, self.tx.now, facts.generation, facts.worker, value)
        self.effects.append(row)
        return self._advance(facts)

    def _begin(self, worker: Worker) -> None:
        """The items of one worker begin; most batches have one only."""
        check_name(worker.id, "worker")
        self.worker = worker
        self.sound = set()

    def _check_registry(self, item: Commit, facts: Facts) -> None:
        manifest = item.worker.manifests.get(item.token.digest)
        if manifest is None:
            raise Undeclared(item.worker.id, item.token.digest)
        if self.registry.get(facts.definition) != manifest.canonical:
            raise RegistryDamaged(item.token.digest)
        self.sound.add(item.token.digest)

    def _advance(self, facts: Facts) -> Answer:
        # all that a later item of the batch is judged by; what else changes is written by `advanced` and `done`
        facts.cursor += 1
        facts.lease = None
        if facts.cursor == len(self.tx.definition(facts.definition).steps):
            self.tx.move(facts, Phase.DONE)
            self.done.append(facts.id)
            return DONE
        self.tx.move(facts, Phase.READY)
        self.advanced.append(facts.id)
        return ADVANCED

    def write(self) -> None:
        """What was decided, set-based: effects, then jobs, then flows."""
        tx = self.tx
        if self.effects:
            tx.many("commit_step.effects", self.effects)
            tx.control.effects += len(self.effects)
        if self.advanced:
            tx.rows("commit_step.advanced", {"now": tx.now, "ids": as_json(self.advanced)})
        if self.done:
            tx.control.unfinished -= len(self.done)
            tx.rows("commit_step.done", {"now": tx.now, "ids": as_json(self.done)})
        tx.flush()


def run_writes(tx: Transaction, writes: Sequence[Write]) -> None:
    """A handler's own statements under one savepoint; `WriteFailed` if one is refused or fails, and none is done."""
    raw = tx.raw
    guard = raw.guard  # type: ignore[attr-defined]
    raw.execute("savepoint writes")
    try:
        for write in writes:
            with guard.data():
                raw.execute(MARK + write.sql, write.params).fetchall()
            points.reach(tx.verb, "own")
    except (sqlite3.Error, sqlite3.Warning, TypeError, ValueError, OverflowError) as error:
        if not raw.in_transaction or (isinstance(error, sqlite3.Error) and is_everybodys(error)):
            raise
        raw.execute("rollback to writes")
        raw.execute("release writes")
        raise WriteFailed(f"an own write failed: {guard.refused or error}; in: {write.sql[:200]}") from error
    raw.execute("release writes")


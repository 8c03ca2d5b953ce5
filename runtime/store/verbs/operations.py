"""What the operators' acts on jobs have in common: facts, receipts, a changed definition, the audit row first."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from runtime.protocol.canonical import check_flag, check_integer, check_name, check_reason
from runtime.protocol.errors import ItemError
from runtime.protocol.lifecycle import Definition, Facts, Phase, judge_migrate
from runtime.protocol.records import Answer, Migration, Operation
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.receipts import audit_row, with_receipts

Item = TypeVar("Item", Operation, Migration)


class Desk:
    """One batch of an operator's verb: what is known, what was changed, what goes into the audit."""

    def __init__(self, tx: Transaction, jobs: Sequence[str], digests: Sequence[str | None]) -> None:
        self.tx = tx
        self.facts = tx.facts(job for job in jobs if isinstance(job, str))
        self.targets = tx.definitions(digest for digest in digests if isinstance(digest, str))
        self.changed: dict[int, Facts] = {}
        self.audits: list[tuple[Any, ...]] = []

    def run(
        self, items: Sequence[Item], check: Callable[[Item], None], judge: Callable[[Item, Facts], Answer]
    ) -> list[Answer | ItemError]:
        """Check and judge each item in order, then write: audit, jobs, flows."""

        def one(item: Item) -> Answer:
            check_name(item.job, "job")
            check_reason(item.reason)
            check(item)
            facts = self.facts.get(item.job)
            return judge(item, facts) if facts is not None else Answer(Verdict.UNKNOWN, cause="no such job")

        answers = with_receipts(self.tx, items, one)
        if self.audits:
            self.tx.many("transaction.audit", self.audits)
        self.tx.put(self.changed.values())
        self.tx.flush()
        return answers

    def source(self, facts: Facts) -> Definition:
        """The job's present definition."""
        return self.tx.definition(facts.definition)

    def audit(
        self, item: Item, facts: Facts, before: dict[str, Any], after: dict[str, Any], verb: str | None = None
    ) -> None:
        """Note an audit row about a job."""
        row = audit_row(self.tx, item, job=facts.id, subject=facts.key, before=before, after=after, verb=verb)
        self.audits.append(row)

    def ready(self, facts: Facts) -> None:
        """The job is ready now, with a new generation and no attempts."""
        facts.generation += 1
        facts.attempts = 0
        facts.due = facts.lease = facts.worker = facts.reason = None
        facts.since = self.tx.now
        self.tx.move(facts, Phase.READY, flow_changed=True)
        self.changed[facts.id] = facts

    def rebind(self, item: Item, facts: Facts, target: Definition) -> None:
        """The job's definition changes: binding revision and generation rise; one audit row of `migrate`."""
        source = self.source(facts)
        before = {
            "digest": source.digest,
            "binding_revision": facts.binding,
            "generation": facts.generation,
            "lifetime_attempts": facts.lifetime,
        }
        state = Phase(facts.state)
        self.tx.count(facts.definition, state, -1)
        self.tx.count(target.id, state, 1)
        facts.definition = target.id
        facts.binding += 1
        after = {
            "digest": target.digest,
            "binding_revision": facts.binding,
            "generation": facts.generation + 1,
            "lifetime_attempts": facts.lifetime,
        }
        self.audit(item, facts, before, after, verb="migrate")
        self.ready(facts)


def check_operation(item: Operation) -> None:
    """Refuse what no generation, digest or flag can be."""
    check_integer(item.generation, "generation")
    check_flag(item.effects_checked, "effects_checked")
    if item.to is not None:
        check_name(item.to, "to")


def make_ready(
    tx: Transaction,
    items: Sequence[Operation],
    judge: Callable[[Facts, int], tuple[Verdict, str | None]],
    describe: Callable[[Facts], dict[str, Any]],
) -> list[Answer | ItemError]:
    """redrive and recover: ready now, with a new generation; with `to`, migrated in the same transaction."""
    desk = Desk(tx, [item.job for item in items], [item.to for item in items])

    def one(item: Operation, facts: Facts) -> Answer:
        verdict, cause = judge(facts, item.generation)
        if cause is not None:
            return Answer(verdict, cause=cause)
        target = desk.targets.get(item.to) if item.to is not None else None
        if item.to is not None:
            source = desk.source(facts)
            refused = judge_migrate(facts, source, target, effects_checked=item.effects_checked, as_ready=True)
            if refused[1] is not None:
                return Answer(refused[0], cause=refused[1])
        live = facts.lease is not None and tx.now <= facts.lease
        before = describe(facts)
        after = {"state": "ready", "generation": facts.generation + 1, "attempts": 0}
        desk.audit(item, facts, before, after)
        desk.ready(facts)
        if target is not None:
            desk.rebind(item, facts, target)
        return Answer(verdict, live_lease=live if verdict == Verdict.RECOVERED else None)

    return desk.run(items, check_operation, one)

"""quarantine_job: an operator takes a ready or in-flight job out of rotation."""

from collections.abc import Sequence

from runtime.protocol.canonical import check_reason
from runtime.protocol.errors import ItemError
from runtime.protocol.lifecycle import STATES, Facts, Phase, judge_quarantine
from runtime.protocol.records import Answer, Operation
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.operations import Desk, check_operation


def quarantine_job(tx: Transaction, items: Sequence[Operation]) -> list[Answer | ItemError]:
    """`quarantined` with generation + 1 and the attempts as they were, `stale`, `refused` or `unknown`."""
    desk = Desk(tx, [item.job for item in items], [])

    def one(item: Operation, facts: Facts) -> Answer:
        verdict, cause = judge_quarantine(facts, item.generation)
        if cause is not None:
            return Answer(verdict, cause=cause)
        before = {
            "state": STATES[Phase(facts.state)],
            "generation": facts.generation,
            "attempts": facts.attempts,
        }
        after = {"state": "quarantined", "generation": facts.generation + 1, "attempts": facts.attempts}
        desk.audit(item, facts, before, after)
        facts.generation += 1
        facts.due = facts.lease = facts.worker = None
        facts.reason = check_reason(item.reason)
        facts.since = tx.now
        tx.move(facts, Phase.QUARANTINED, flow_changed=True)
        desk.changed[facts.id] = facts
        return Answer(Verdict.QUARANTINED, cause=facts.reason)

    return desk.run(items, check_operation, one)

"""fail: attempts left, and the job waits its backoff; none left, and it is quarantined with the reason."""

from collections.abc import Sequence

from runtime.protocol.canonical import check_integer, check_reason
from runtime.protocol.errors import ItemError
from runtime.protocol.lifecycle import Facts, Phase
from runtime.protocol.records import Answer, Callback
from runtime.protocol.retry import LONGEST_AFTER_MS, backoff
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.callbacks import run_callbacks


def fail(tx: Transaction, items: Sequence[Callback]) -> list[Answer | ItemError]:
    """`retry` with its due time, or `quarantined`."""

    def apply(facts: Facts, item: Callback) -> Answer:
        if item.after is not None:
            check_integer(item.after, "after", most=LONGEST_AFTER_MS)
        policy = tx.definition(facts.definition).steps[facts.cursor]
        reason = check_reason(item.reason)
        tx.note(facts, "failed", reason)
        facts.reason = reason
        if facts.attempts >= policy.budget:
            facts.due = None
            tx.move(facts, Phase.QUARANTINED)
            return Answer(Verdict.QUARANTINED, cause=reason)
        wait = backoff(facts.attempts, policy.base, policy.ceiling) if item.after is None else item.after
        facts.due = tx.now + wait
        tx.move(facts, Phase.WAITING)
        return Answer(Verdict.RETRY, due=facts.due)

    return run_callbacks(tx, items, apply)

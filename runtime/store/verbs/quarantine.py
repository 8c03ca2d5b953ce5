"""quarantine: a worker gives up at once: a permanent fault, or an outcome that is unknown."""

from collections.abc import Sequence

from runtime.protocol.canonical import check_reason
from runtime.protocol.errors import ItemError
from runtime.protocol.lifecycle import Facts, Phase
from runtime.protocol.records import Answer, Callback
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.callbacks import run_callbacks


def quarantine(tx: Transaction, items: Sequence[Callback]) -> list[Answer | ItemError]:
    """`quarantined` with the reason."""

    def apply(facts: Facts, item: Callback) -> Answer:
        reason = check_reason(item.reason)
        tx.note(facts, "quarantined", reason)
        facts.due = None
        facts.reason = reason
        tx.move(facts, Phase.QUARANTINED)
        return Answer(Verdict.QUARANTINED, cause=reason)

    return run_callbacks(tx, items, apply)

"""redrive: a quarantined job is ready again; its reason moves into the audit row."""

from collections.abc import Sequence

from runtime.protocol.errors import ItemError
from runtime.protocol.lifecycle import Facts, judge_redrive
from runtime.protocol.records import Answer, Operation
from runtime.store.transaction import Transaction
from runtime.store.verbs.operations import make_ready


def redrive(tx: Transaction, items: Sequence[Operation]) -> list[Answer | ItemError]:
    """`redriven`, `stale`, `refused` or `unknown`."""

    def describe(facts: Facts) -> dict[str, object]:
        return {
            "state": "quarantined",
            "generation": facts.generation,
            "attempts": facts.attempts,
            "reason": facts.reason,
        }

    return make_ready(tx, items, judge_redrive, describe)

"""recover: a job in flight is taken from its worker, whose token is stale from then on."""

from collections.abc import Sequence

from runtime.protocol.errors import ItemError
from runtime.protocol.lifecycle import Facts, judge_recover
from runtime.protocol.records import Answer, Operation
from runtime.store.transaction import Transaction
from runtime.store.verbs.operations import make_ready


def recover(tx: Transaction, items: Sequence[Operation]) -> list[Answer | ItemError]:
    """`recovered` (the answer says whether the lease was live), `stale`, `refused` or `unknown`."""

    def describe(facts: Facts) -> dict[str, object]:
        return {
            "state": "inflight",
            "generation": facts.generation,
            "attempts": facts.attempts,
            "lease_until": facts.lease,
        }

    return make_ready(tx, items, judge_recover, describe)

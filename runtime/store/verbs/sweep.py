"""sweep: what the clock acts on. A backoff that is over makes its job ready; a lapsed `retry` lease does too, or, its
budget spent, quarantines it. The lease's end stays in the row: it is how a late callback is answered `expired`."""

from collections.abc import Sequence

from runtime.protocol.lifecycle import Facts, Phase
from runtime.store.transaction import Transaction

UNBOUNDED = 2**62


def sweep(tx: Transaction, items: Sequence[None]) -> list[int]:
    """How many jobs moved; the first item's answer counts them, further ones find nothing left."""
    return [sweep_due(tx) for _ in items]


def sweep_due(tx: Transaction) -> int:
    """Move what is due, the longest overdue first; at most the sweep's limit, unbounded on a logical clock."""
    limit = tx.sweep_limit if tx.control.clock == "wall" else UNBOUNDED
    found = [Facts(*row) for row in tx.rows("sweep.due", {"now": tx.now, "limit": limit})]
    if not found:
        return 0
    for facts in found:
        _move(tx, facts)
    tx.put(found)
    tx.flush()
    return len(found)


def _move(tx: Transaction, facts: Facts) -> None:
    facts.due = None
    if facts.state == Phase.WAITING:
        tx.move(facts, Phase.READY)
    else:
        budget = tx.definition(facts.definition).steps[facts.cursor].budget
        spent = facts.attempts >= budget
        why = f"the lease lapsed; attempt {facts.attempts} of {budget}"
        tx.note(facts, "lapsed", why)
        facts.reason = f"the lease lapsed and the budget of {budget} attempts is spent" if spent else None
        tx.move(facts, Phase.QUARANTINED if spent else Phase.READY)
        facts.worker = None
    facts.since = tx.now

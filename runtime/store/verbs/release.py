"""release: a claim handed back because its process stops in good order; no failure, attempts as before the claim."""

from collections.abc import Sequence

from runtime.protocol.canonical import check_reason
from runtime.protocol.errors import ItemError
from runtime.protocol.lifecycle import Facts, Phase
from runtime.protocol.records import Answer, Callback
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.callbacks import run_callbacks


def release(tx: Transaction, items: Sequence[Callback]) -> list[Answer | ItemError]:
    """`released`: ready at once; the generation, the lifetime attempts and the used turn stay."""

    def apply(facts: Facts, item: Callback) -> Answer:
        tx.note(facts, "released", check_reason(item.reason))
        tx.control.releases += 1
        facts.attempts -= 1
        facts.due = None
        facts.reason = None
        tx.move(facts, Phase.READY)
        return Answer(Verdict.RELEASED)

    return run_callbacks(tx, items, apply)

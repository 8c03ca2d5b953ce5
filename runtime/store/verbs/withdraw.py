"""withdraw: worker processes say that they have ended."""

from collections.abc import Sequence

from runtime.protocol.canonical import check_name
from runtime.store.transaction import Transaction


def withdraw(tx: Transaction, items: Sequence[str]) -> list[None]:
    """Say that these workers have ended."""
    for name in items:
        tx.rows("withdraw.take_out", {"worker": tx.worker(check_name(name, "worker"))})
    return [None] * len(items)

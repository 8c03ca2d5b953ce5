"""The verbs: plain functions over a transaction, a batch in, an answer or an `ItemError` per item out, in order."""

from collections.abc import Callable, Sequence
from typing import Any

from runtime.store.transaction import Transaction
from runtime.store.verbs.admit import admit
from runtime.store.verbs.announce import announce
from runtime.store.verbs.claim import claim
from runtime.store.verbs.commit_step import commit_step
from runtime.store.verbs.ensure_schema import ensure_schema
from runtime.store.verbs.fail import fail
from runtime.store.verbs.migrate import migrate
from runtime.store.verbs.quarantine import quarantine
from runtime.store.verbs.quarantine_job import quarantine_job
from runtime.store.verbs.recover import recover
from runtime.store.verbs.redrive import redrive
from runtime.store.verbs.register import register
from runtime.store.verbs.release import release
from runtime.store.verbs.renew import renew
from runtime.store.verbs.set import set_
from runtime.store.verbs.sweep import sweep
from runtime.store.verbs.switch import switch
from runtime.store.verbs.transition import transition
from runtime.store.verbs.withdraw import withdraw
from runtime.store.verbs.write import write

# the order is that in which a group of concurrent requests runs: outcomes first, so that a claim sees what they free
VERBS: dict[str, Callable[[Transaction, Sequence[Any]], list[Any]]] = {
    "register": register,
    "switch": switch,
    "commit_step": commit_step,
    "fail": fail,
    "release": release,
    "quarantine": quarantine,
    "renew": renew,
    "redrive": redrive,
    "recover": recover,
    "quarantine_job": quarantine_job,
    "migrate": migrate,
    "set": set_,
    "transition": transition,
    "admit": admit,
    "write": write,
    "sweep": sweep,
    "claim": claim,
    "announce": announce,
    "withdraw": withdraw,
    "ensure_schema": ensure_schema,
}
RANK = {verb: rank for rank, verb in enumerate(VERBS)}
ALONE = frozenset({"checkpoint", "ensure_schema", "write"})

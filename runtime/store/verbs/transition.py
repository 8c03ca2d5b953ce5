"""transition: the barrier. Judged in order: receipt, version, mode, unfinished."""

from collections.abc import Sequence

from runtime.protocol.canonical import check_flag, check_integer, check_reason
from runtime.protocol.errors import InvalidValue, ItemError
from runtime.protocol.lifecycle import Phase
from runtime.protocol.records import Answer, Transition
from runtime.protocol.verdicts import Mode, Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.receipts import audit_row, with_receipts

ACTIONS = {
    "drain": ((Mode.OPEN,), Mode.DRAINING),
    "pause": ((Mode.DRAINING,), Mode.PAUSED),
    "resume": ((Mode.DRAINING, Mode.PAUSED), Mode.OPEN),
}
WORDS = {
    Phase.READY: "ready",
    Phase.WAITING: "waiting",
    Phase.INFLIGHT: "inflight",
    Phase.HELD: "inflight",
    Phase.QUARANTINED: "quarantined",
}


def transition(tx: Transaction, items: Sequence[Transition]) -> list[Answer | ItemError]:
    """The new mode, `stale`, `refused`, `busy` (with the unfinished by state) or `conflict`; every answer carries mode
    and version."""
    audits = []

    def judge(item: Transition) -> Answer:
        _check(item)
        control = tx.control
        allowed, target = ACTIONS[item.action]
        mode, version = Mode(control.mode), control.version
        if item.expected_version != version:
            cause = f"the control version is {version}, not {item.expected_version}"
            return Answer(Verdict.STALE, cause=cause, mode=mode, version=version)
        if mode not in allowed:
            cause = f"{item.action} is for {' or '.join(allowed)}; the store is {mode}"
            return Answer(Verdict.REFUSED, cause=cause, mode=mode, version=version)
        if target == Mode.PAUSED and tx.rows("transition.unfinished") != [(0,)]:
            unfinished = _by_state(tx)
            cause = "not everything is done: " + ", ".join(f"{n} {word}" for word, n in unfinished.items())
            return Answer(Verdict.BUSY, cause=cause, mode=mode, version=version, unfinished=unfinished)
        control.mode = target
        control.version += 1
        control.pause_version = control.version if item.action == "drain" and item.pause_when_empty else None
        before = {"mode": mode, "version": version}
        after = {"mode": target, "version": control.version}
        audits.append(
            audit_row(tx, item, job=None, subject="barrier", before=before, after=after, verb=item.action)
        )
        return Answer(Verdict(target.value), mode=target, version=control.version)

    answers = with_receipts(tx, items, judge)
    if audits:
        tx.many("transaction.audit", audits)
    return answers


def _check(item: Transition) -> None:
    if not isinstance(item.action, str) or item.action not in ACTIONS:
        raise InvalidValue("action", f"drain, pause or resume is expected, got {item.action!r}")
    check_integer(item.expected_version, "expected_version")
    if item.reason is not None:
        check_reason(item.reason)
    check_flag(item.pause_when_empty, "pause_when_empty")
    if item.pause_when_empty and item.action != "drain":
        raise InvalidValue("pause_when_empty", "goes with drain only")


def _by_state(tx: Transaction) -> dict[str, int]:
    counts = dict.fromkeys(WORDS.values(), 0)
    for state, n in tx.rows("transition.by_state"):
        counts[WORDS[Phase(state)]] += n
    for state, n in tx.pending():
        if state in WORDS:
            counts[WORDS[Phase(state)]] += n
    return {word: n for word, n in counts.items() if n}

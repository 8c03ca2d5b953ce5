"""Commands with an id: one that changed something stores its outcome, and the same command gets it again."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from runtime.protocol.canonical import check_name, check_reason, cut
from runtime.protocol.errors import InvalidValue, ItemError
from runtime.protocol.records import Answer
from runtime.protocol.verdicts import Mode, Verdict
from runtime.store.transaction import Transaction

LEAVE_NONE = frozenset({Verdict.BUSY, Verdict.STALE, Verdict.REFUSED, Verdict.UNKNOWN, Verdict.CONFLICT})


class Command(Protocol):
    """An item that names who acts and may carry a command id."""

    @property
    def actor(self) -> str: ...

    @property
    def command_id(self) -> str | None: ...


Item = TypeVar("Item", bound=Command)


def with_receipts(
    tx: Transaction, items: Sequence[Item], judge: Callable[[Item], Answer]
) -> list[Answer | ItemError]:
    """Judge the items in order; an item whose command id is known is not judged again."""
    ids = [item.command_id for item in items if isinstance(item.command_id, str)]
    stored: dict[str, tuple[str, str, str]] = {}
    if ids:
        rows = tx.rows("transaction.receipts", {"ids": json.dumps(ids)})
        stored = {row[0]: (row[1], row[2], row[3]) for row in rows}
    new: list[tuple[Any, ...]] = []
    answers: list[Answer | ItemError] = []
    for item in items:
        try:
            answers.append(_answer(tx, item, judge, stored, new))
        except ItemError as error:
            answers.append(error)
    if new:
        tx.many("transaction.new_receipts", new)
    return answers


def _answer(
    tx: Transaction,
    item: Item,
    judge: Callable[[Item], Answer],
    stored: dict[str, tuple[str, str, str]],
    new: list[tuple[Any, ...]],
) -> Answer:
    if not isinstance(item.actor, str) or not item.actor.strip():
        raise InvalidValue("actor", "a name that is not blank is expected")
    command_id = item.command_id
    if command_id is None:
        return judge(item)
    check_name(command_id, "command_id")
    arguments = _arguments(item)
    known = stored.get(command_id)
    if known is not None:
        if known[:2] == (tx.verb, arguments):
            return msgspec.json.decode(known[2], type=Answer)
        control = tx.control
        cause = f"the command id {command_id!r} stands for another command ({known[0]})"
        return Answer(Verdict.CONFLICT, cause=cause, mode=Mode(control.mode), version=control.version)
    answer = judge(item)
    if answer.verdict not in LEAVE_NONE:
        outcome = msgspec.json.encode(answer).decode()
        stored[command_id] = (tx.verb, arguments, outcome)
        new.append((command_id, tx.verb, arguments, outcome))
    return answer


def _arguments(item: Any) -> str:
    # what is no value at all is refused by the verb; here it is merely another argument
    fields = msgspec.to_builtins(item, enc_hook=repr)
    kept = {name: value for name, value in fields.items() if name not in ("command_id", "actor")}
    return json.dumps(kept, sort_keys=True, default=repr)


def audit_row(
    tx: Transaction,
    item: Any,
    *,
    job: int | None,
    subject: str,
    before: object,
    after: object,
    verb: str | None = None,
) -> tuple[Any, ...]:
    """A row for `transaction.audit`: who, when, which verb, from what to what, why."""
    texts = (json.dumps(before, sort_keys=True), json.dumps(after, sort_keys=True))
    reason = None if item.reason is None else check_reason(item.reason)
    return (tx.now, cut(item.actor), verb or tx.verb, job, subject, *texts, reason, item.command_id)

"""set: audited settings: capacity, flow_capacity, newcomers, and a flow's width."""

from collections.abc import Sequence

from runtime.protocol.canonical import check_integer, check_name, check_reason
from runtime.protocol.errors import InvalidValue, ItemError
from runtime.protocol.lifecycle import Phase, occupies
from runtime.protocol.records import Answer, Setting
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.receipts import audit_row, with_receipts

NAMES = ("capacity", "flow_capacity", "newcomers", "width")


def set_(tx: Transaction, items: Sequence[Setting]) -> list[Answer | ItemError]:
    """`set`, or for a flow's width `refused` (with the cause) or `unknown`."""
    audits = []

    def judge(item: Setting) -> Answer:
        _check(item)
        before = getattr(tx.control, item.name) if item.name != "width" else None
        subject = item.name
        answer = Answer(Verdict.SET)
        if item.name == "width":
            assert item.flow is not None
            before, answer = _set_width(tx, item.flow, item.value)
            subject = f"flow {item.flow}"
        else:
            setattr(tx.control, item.name, item.value)
        if answer.verdict == Verdict.SET:
            audits.append(
                audit_row(
                    tx, item, job=None, subject=subject, before={item.name: before}, after={item.name: item.value}
                )
            )
        return answer

    answers = with_receipts(tx, items, judge)
    if audits:
        tx.many("transaction.audit", audits)
    tx.flush()
    return answers


def _check(item: Setting) -> None:
    check_reason(item.reason)
    if item.name not in NAMES:
        raise InvalidValue("name", f"one of {', '.join(NAMES)} is expected, got {item.name!r}")
    if (item.name == "width") != (item.flow is not None):
        raise InvalidValue("flow", "goes with the setting width, and only with it")
    if item.flow is not None:
        check_name(item.flow, "flow")
    if item.name == "newcomers":
        if item.value not in ("behind", "first"):
            raise InvalidValue("newcomers", f"'behind' or 'first' is expected, got {item.value!r}")
    elif item.value is not None:
        check_integer(item.value, item.name, least=1 if item.name == "width" else 0)


def _set_width(tx: Transaction, name: str, value: int | str | None) -> tuple[int | None, Answer]:
    rows = tx.rows("set.flow", {"name": name})
    if not rows:
        return None, Answer(Verdict.UNKNOWN, cause=f"no flow {name!r}")
    flow, before, _ = rows[0]
    width = int(value or 0)
    not_ready = tx.rows("set.not_ready", {"flow": flow})
    if width == 0 and before != 0:
        ((first_ready,),) = tx.rows("set.first_ready", {"flow": flow})
        head = min(seq for _, seq in not_ready) if not_ready else None
        if len(not_ready) > 1 or (head is not None and first_ready is not None and head > first_ready):
            cause = f"{len(not_ready)} jobs of the flow are not ready; it becomes ordered when at most its head is not"
            return before or None, Answer(Verdict.REFUSED, cause=cause)
    taken = sum(occupies(width, Phase(state)) for state, _ in not_ready)
    tx.rows("set.width", {"flow": flow, "width": width, "taken": taken})
    tx.touch(flow)
    return before or None, Answer(Verdict.SET, width=width or None)

"""How a handler's attempt may end, and what each ending means."""

from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeAlias

from runtime.protocol.canonical import Canonical, canonical, cut
from runtime.protocol.errors import InvalidValue
from runtime.protocol.records import Record
from workers.endings import OutcomeUnknown, Quarantine, Retry
from workers.reasons import leaves, reason_of, trace_of


class Returned(Record, frozen=True):
    """The handler returned a value."""

    value: Any


class Raised(Record, frozen=True):
    """The handler raised, whatever it was."""

    error: BaseException


class OutOfTime(Record, frozen=True):
    """The step's time limit was reached; `then` says what the handler did after it, if that is known."""

    limit_ms: int
    then: str


class Died(Record, frozen=True):
    """The process that ran the handler ended by itself."""

    how: str


class Finding(NamedTuple):
    """What an ending that is no value leads to: `fail`, `release` or `quarantine`, why, and for a retry the wait."""

    verb: str
    reason: str
    after_ms: int | None = None
    trace: str | None = None


Ending: TypeAlias = Returned | Raised | OutOfTime | Died | Finding


def classify(ending: Ending, *, hold: bool) -> Canonical | Finding:
    """What an ending means: the value as it will be stored, or what it leads to instead. `hold`: the step's effect
    outside must not be repeated unseen."""
    if isinstance(ending, Returned):
        return _stored(ending.value)
    match ending:
        case Raised(error):
            return finding_of(error)
        case OutOfTime(limit_ms, then):
            return _lost(f"time limit of {limit_ms} ms reached: {then}", hold)
        case Died(how):
            return _lost(how, hold)
        case Finding():
            return ending


def finding_of(error: BaseException) -> Finding:
    """What an exception means. In a group the gravest word counts, and a retry only if every member asks for one."""
    members = leaves(error)
    for member in members:
        if isinstance(member, OutcomeUnknown):
            return Finding("quarantine", said("outcome unknown: ", member.reason))
    for member in members:
        if isinstance(member, Quarantine):
            return Finding("quarantine", said("", member.reason))
    asked = [member for member in members if isinstance(member, Retry)]
    if members and len(asked) == len(members):
        longest = max(asked, key=lambda member: member.after_ms)
        return Finding("fail", said("retry: ", longest.reason), longest.after_ms)
    return Finding("fail", reason_of(error), trace=trace_of(error))


def said(before: str, reason: object) -> str:
    """A reason that a handler gave, as text that can be stored."""
    try:
        text = str(reason)
    except BaseException:
        text = ""
    return cut(before + (text if text.strip() else "the handler gave no reason"))


def _lost(what: str, hold: bool) -> Finding:
    if hold:
        return Finding("quarantine", cut(f"outcome unknown: {what}"))
    return Finding("fail", cut(what))


def _stored(value: object) -> Canonical | Finding:
    try:
        return Canonical(canonical(value).decode())
    except InvalidValue as error:
        if isinstance(value, Coroutine):
            value.close()
            return Finding("quarantine", "the handler is a `def` that returned a coroutine: write it as `async def`")
        return refused(error)
    except Exception as error:
        return Finding("quarantine", cut(f"the handler's value cannot be stored: {reason_of(error)}"))


def refused(error: InvalidValue) -> Finding:
    """A value that is not JSON, or over the limit: repeating cannot help."""
    return Finding("quarantine", cut(f"the handler's value cannot be stored: {error}"))

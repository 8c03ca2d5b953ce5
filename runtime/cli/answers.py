"""Answers of verbs as lines for people and as plain data."""

from typing import Any

from runtime.cli.output import plain
from runtime.protocol.records import Answer
from runtime.protocol.verdicts import Mode, Verdict


def data(answer: Answer) -> dict[str, Any]:
    """An answer as JSON data: what it does not carry is left out."""
    return {name: value for name, value in plain(answer).items() if value is not None}


def line(answer: Answer, subject: str = "") -> str:
    """The verdict, what it is about, and the cause in words."""
    words = [answer.verdict.value, subject]
    if answer.mode is not None and answer.mode != answer.verdict.value:
        words.append(f"(now {answer.mode}, version {answer.version})")
    elif answer.version is not None:
        words.append(f"(version {answer.version})")
    if answer.revision is not None:
        words.append(f"(revision {answer.revision})")
    text = " ".join(word for word in words if word)
    return f"{text}: {answer.cause}" if answer.cause else text


def hint(answer: Answer) -> str | None:
    """What to do next after an answer that is no success; None where nothing is to be done."""
    if answer.verdict is Verdict.CLOSED:
        after = "after `resume`" if answer.mode is Mode.PAUSED else "after the drain and `resume`"
        return f"nothing was left behind; send it again under the same id {after}"
    if answer.verdict is Verdict.CONFLICT and answer.field is not None:
        return f"a job of that id exists with another {answer.field}; `jobs show` shows it, a new job needs a new id"
    return _HINTS.get(answer.verdict)


_HINTS = {
    Verdict.FULL: "finish or redrive what is unfinished, or raise the limit with `limits set`",
    Verdict.STALE: "what you saw has changed since: look again (`status`, `jobs show`) and decide anew",
    Verdict.UNKNOWN: "check the name; `jobs list` and `definitions list` show what there is",
    Verdict.BUSY: "`why drain` names what is unfinished",
    Verdict.CONFLICT: "that command id stands for another command: use a new one",
}

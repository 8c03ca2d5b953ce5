"""Exit codes: the one place where an answer or an error becomes a number, and an error becomes a line.

0 done · 1 fault · 2 usage · 3 busy, not drained · 4 stale, conflict, resumed · 5 refused, closed, full, unknown, no
coverage · 69 store unavailable, outcome unknown · 130 second signal · 143 hard limit.
"""

from collections.abc import Iterable
from enum import IntEnum

from runtime.protocol.errors import (
    ClockBackwards,
    CommitUnknown,
    ForeignFile,
    HandlerMismatch,
    InvalidValue,
    ItemError,
    KeepstepError,
    NewerSchema,
    NoRoute,
    StoreBusy,
    StoreError,
    StoreFull,
)
from runtime.protocol.records import Answer
from runtime.protocol.verdicts import Verdict


class Exit(IntEnum):
    """What a command's end means to the program that called it."""

    OK = 0
    FAULT = 1
    USAGE = 2
    BUSY = 3
    STALE = 4
    REFUSED = 5
    UNAVAILABLE = 69
    INTERRUPTED = 130
    KILLED = 143


class Stop(Exception):
    """A command's foreseeable end: a line that says what was expected and what to do next, and an exit code."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code


VERDICTS: dict[Verdict, Exit] = {
    Verdict.BUSY: Exit.BUSY,
    Verdict.STALE: Exit.STALE,
    Verdict.CONFLICT: Exit.STALE,
    Verdict.EXPIRED: Exit.STALE,
    Verdict.REFUSED: Exit.REFUSED,
    Verdict.CLOSED: Exit.REFUSED,
    Verdict.FULL: Exit.REFUSED,
    Verdict.UNKNOWN: Exit.REFUSED,
}

ERRORS: tuple[tuple[type[BaseException], Exit], ...] = (
    (InvalidValue, Exit.USAGE),
    (NoRoute, Exit.USAGE),
    (HandlerMismatch, Exit.USAGE),
    (ClockBackwards, Exit.USAGE),
    (ItemError, Exit.FAULT),
    (StoreError, Exit.UNAVAILABLE),
)

NEXT: tuple[tuple[type[BaseException], str], ...] = (
    (NoRoute, "`admit … --app MODULE:APP` or `work MODULE:APP` sets the first one, to the manifest marked current"),
    (HandlerMismatch, "nothing was started: mend the app and try again"),
    (StoreBusy, "another program holds the file's write lock: find it (`doctor` names live processes) and try again"),
    (StoreFull, "make room on the disk and try again; nothing was written"),
    (CommitUnknown, "look the job or the version up before doing it again (`jobs show`, `status`)"),
    (ForeignFile, "check --db: it must name a file that keepstep made (`db init` makes one)"),
    (NewerSchema, "install the keepstep that wrote it, or a newer one"),
)


def code_of(outcome: Answer | BaseException) -> Exit:
    """The exit code of one item's answer or error."""
    if isinstance(outcome, Answer):
        return VERDICTS.get(outcome.verdict, Exit.OK)
    if isinstance(outcome, Stop):
        return outcome.code
    return next((code for kind, code in ERRORS if isinstance(outcome, kind)), Exit.FAULT)


def worst(outcomes: Iterable[Answer | BaseException]) -> Exit:
    """A batch ends with the highest code among its items."""
    return max((code_of(outcome) for outcome in outcomes), default=Exit.OK)


def line_of(error: BaseException) -> str:
    """One line for a foreseeable error: what happened, then what to do next."""
    several = "; ".join(str(error).splitlines()) if isinstance(error, HandlerMismatch) else str(error)
    text = " ".join(several.split())
    advice = next((advice for kind, advice in NEXT if isinstance(error, kind)), None)
    return f"{text} — {advice}" if advice and advice not in text else text


def foreseeable(error: BaseException) -> BaseException | None:
    """The error that a command may end with in one line, also from within a group; None for a defect of ours."""
    if isinstance(error, BaseExceptionGroup):
        found = [foreseeable(inner) for inner in error.exceptions]
        return found[0] if found and all(found) else None
    return error if isinstance(error, (Stop, KeepstepError)) else None


def nobody_reads(error: BaseException) -> bool:
    """Whether the reader of stdout has gone, also from within a group."""
    if isinstance(error, BaseExceptionGroup):
        return all(nobody_reads(inner) for inner in error.exceptions)
    return isinstance(error, BrokenPipeError)

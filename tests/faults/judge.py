"""What a child was told against what it left: nothing that was answered is missing, nothing is half there."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from demos.scenarios.scenes import of_store, said
from runtime.protocol import errors
from tests.crash.invariants import check
from tests.faults.bench import Ready, opened
from tests.faults.server import Report, Told
from tests.powerloss.shim import Mode

UNKNOWN = errors.CommitUnknown.__name__
FULL = errors.StoreFull.__name__
KILLED = -9
TO_BE_TOLD = frozenset({"write wal", "sync wal", "write database", "sync database", "truncate wal"})
KILLING = (Mode.KILL_BEFORE, Mode.KILL_AFTER, Mode.TORN)


async def judged(ready: Ready, mode: Mode, call: int, path: Path, report: Report) -> list[str]:
    """What is wrong; nothing is expected."""
    found = list(wrongly_told(ready, mode, call, report))
    try:
        return found + await wrongly_left(ready, path, report)
    except (errors.KeepstepError, sqlite3.Error, AssertionError) as error:
        return [*found, f"the file cannot be used: {type(error).__name__}: {error}"]


def wrongly_told(ready: Ready, mode: Mode, call: int, report: Report) -> Iterator[str]:
    """A fault under a false name, a refusal that did not pass, a word that is not the call's own."""
    if report.status != (KILLED if mode in KILLING else 0):
        yield f"the child ended with {report.status}"
    for told in report.told:
        if told.error is not None:
            kind = getattr(errors, told.error, None)
            if kind is None or not issubclass(kind, errors.StoreError):
                yield f"{told.at}: {told.error} is no error of the store's: {told.text}"
            if told.in_commit and told.error not in (UNKNOWN, FULL):
                yield f"{told.at}: an error out of COMMIT was told as {told.error}: {told.text}"
            if mode == Mode.ENOSPC_STICKY and told.fired and "full" in told.text and told.error != FULL:
                yield f"{told.at}: a full disk was told as {told.error}: {told.text}"
        elif isinstance(told.at, int) and told.word != ready.calls[told.at].first:
            yield f"{told.at}: {told.word} instead of {ready.calls[told.at].first}"
    for first, second in zip(report.told, report.told[1:], strict=False):
        yield from _wrong_sequel(first, second)
        if mode == Mode.EIO_ONCE and second.fired > first.fired and second.word is not None:
            yield from _swallowed(second, ready.changes[call - 1])


def _swallowed(told: Told, change: str) -> Iterator[str]:
    if isinstance(told.at, int) and change in TO_BE_TOLD:
        yield f"{told.at}: {told.word} was told although a {change} failed"


def _wrong_sequel(first: Told, second: Told) -> Iterator[str]:
    if first.error is None or first.at != second.at:
        return
    if first.error == UNKNOWN and second.error != UNKNOWN and isinstance(first.at, int):
        yield f"{first.at}: the store was served on after an unknown outcome: {second.word or second.error}"
    if first.error != UNKNOWN and second.error is not None:
        yield f"{first.at}: {first.error}, and without the fault again {second.error}: {second.text}"


async def wrongly_left(ready: Ready, path: Path, report: Report) -> list[str]:
    """Nothing answered is missing; a call whose outcome nobody knows is there whole or not at all, and can be asked for
    again."""
    done = sum(told.word is not None and isinstance(told.at, int) for told in report.told)
    unknown = report.status == KILLED or any(told.error == UNKNOWN for told in report.told)
    left = await of_store(path)
    broken = check(path)
    if done == len(ready.calls) or not unknown:
        if left != ready.states[done]:
            broken.append(f"after {done} answers: {_difference(ready, done, left)}")
        return broken
    if left not in (ready.states[done], ready.states[done + 1]):
        return [*broken, f"call {done} is half there: {_difference(ready, done, left)}"]
    return broken + await _asked_again(ready, done, path, left == ready.states[done + 1])


async def _asked_again(ready: Ready, number: int, path: Path, there: bool) -> list[str]:
    call = ready.calls[number]
    if ready.states[number] == ready.states[number + 1]:
        return []
    async with await opened(path) as store:
        told = said(await getattr(store, call.verb)(**call.arguments))
    expected = call.again if there else call.first
    found = check(path)
    if told != expected:
        found.append(f"call {number} asked for again: {told} instead of {expected}")
    if not there and await of_store(path) != ready.states[number + 1]:
        found.append(f"call {number} asked for again has another effect")
    return found


def _difference(ready: Ready, done: int, left: object) -> str:
    assert isinstance(left, dict)
    tables = [table for table, rows in ready.states[done].items() if left.get(table) != rows]
    return f"the file differs in {', '.join(tables) or 'its tables'}"


def kind(report: Report) -> str:
    """How it went, in a word or two for the table."""
    if report.status == KILLED:
        return "killed"
    told = {one.error for one in report.told if one.error is not None}
    if UNKNOWN in told:
        return "unknown"
    return "told, then taken" if told else "nothing to tell"

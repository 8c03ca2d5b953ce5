"""A process ends at a named point in the middle of a verb: what it leaves, and what the same call answers then."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demos.scenarios import gate
from demos.scenarios.cases import CASES, ONE, V1, V2, Arguments, Case
from demos.scenarios.world import STORE_ID, plain
from demos.story import Teller, run_alone
from runtime.protocol.errors import InvalidValue
from runtime.protocol.records import Answer, Claims
from runtime.store import points
from runtime.store.points import EXIT_CODE
from runtime.store.store import Store

DEFAULT = "commit_step.before_commit"
IN_WORDS = {
    "begin": "the transaction has begun and no statement of the verb has run",
    "before_commit": "every statement has run, the COMMIT has not been sent",
    "after_commit": "COMMIT has returned, and nobody has been told the answer",
}


async def tell(teller: Teller, folder: Path, at: str = DEFAULT) -> None:
    """The whole demo, for one point."""
    verb, where = split(at)
    teller.title(f"crash: a process ends at {at}")
    words = IN_WORDS.get(where, f"the statement {where!r} of {verb} has run, within an open transaction")
    teller.say(f"The point: {words}. A child process is armed to end there, without any clean-up (os._exit).")
    for number, case in enumerate(case for case in CASES if case.verb == verb):
        place = folder / str(number)
        place.mkdir()
        if await _played(teller, place, at, case):
            return
    teller.say(f"No scene of {verb} comes past {where!r}: that statement runs only in cases that are not shown here.")


def split(at: str) -> tuple[str, str]:
    """Verb and place of a point; `InvalidValue` for one that does not exist."""
    if at not in points.names():
        raise InvalidValue("--at", f"{at!r} is no point; `python -m runtime demo crash --list` shows them")
    verb, _, where = at.partition(".")
    return verb, where


def by_verb() -> Mapping[str, list[str]]:
    """Every point's place, by verb."""
    found: dict[str, list[str]] = {}
    for name in points.names():
        verb, _, where = name.partition(".")
        found.setdefault(verb, []).append(where)
    return found


async def _played(teller: Teller, folder: Path, at: str, case: Case) -> bool:
    """One scene; False if it does not come past the point."""
    path = folder / "queue.db"
    arguments = await _prepared(path, case)
    before = await _look(path)
    whole = _copied(path)
    code = await gate.crash(path, at, case.verb, **arguments)
    if code != EXIT_CODE:
        return False
    async with await _opened(whole) as store:
        word = await _word(store, case.verb, arguments)
    after = await _look(whole)
    left = await _look(path)
    teller.say(f"The scene: {_summary(case)} Uninterrupted, the call answers {word!r} and changes these tables:")
    teller.saw(f"{case.verb}({_shown(arguments)})", _changed(before, after) or "nothing")
    teller.say("Now the same call in the child that ends at the point, and the file read by a new process afterwards:")
    teller.saw("exit code of the child", code)
    teller.saw("tables that differ from before the call", _changed(before, left) or "none")
    if left == after != before:
        teller.say("The commit counts, though nobody heard of it: the file is as after the whole call. Asked again:")
    elif left == before:
        teller.say("Nothing of it is there: half a call does not exist. Asked again:")
    async with await _opened(path) as store:
        teller.saw(f"{case.verb}, the same call", await _word(store, case.verb, arguments))
    differs = _changed(after, await _look(path))
    record = f"{', '.join(differs)}: the refused repeat is on record"
    teller.saw("differs from one whole call", record if differs else "nothing")
    return True


def _summary(case: Case) -> str:
    text = " ".join((case.prepare.__doc__ or "").split())
    return text[:1].lower() + text[1:]


async def _prepared(path: Path, case: Case) -> Arguments:
    async with await _opened(path) as store:
        await store.register_many([V1, V2, ONE], now=0)
        for manifest in (V1, ONE):
            await store.switch(manifest.digest, 0, now=0)
        return await case.prepare(store)


async def _opened(path: Path) -> Store:
    return await Store.open(path, clock="logical", store_id=STORE_ID)


async def _look(path: Path) -> dict[str, Any]:
    async with await _opened(path) as store:
        return dict(plain(await store.dump()))


def _copied(path: Path) -> Path:
    copy = path.with_name("whole.db")
    for suffix in ("", "-wal"):
        if path.with_name(path.name + suffix).exists():
            shutil.copy(path.with_name(path.name + suffix), copy.with_name(copy.name + suffix))
    return copy


async def _word(store: Store, verb: str, arguments: Arguments) -> str:
    answer = await getattr(store, verb)(**arguments)
    if isinstance(answer, list):
        (answer,) = answer
    if isinstance(answer, Answer):
        return str(answer.verdict)
    return f"{len(answer.claims)} claimed" if isinstance(answer, Claims) else str(answer)


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [table for table in after if before.get(table) != after[table]]


def _shown(arguments: Arguments) -> str:
    return ", ".join(str(value) for name, value in arguments.items() if isinstance(value, (str, int)) and name != "now")


if __name__ == "__main__":
    run_alone(tell)

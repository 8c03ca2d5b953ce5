"""A process ends at a named point in the middle of a verb: what it leaves, and what the same call answers then."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from demos.scenarios.cases import Arguments
from demos.scenarios.gate import ChildFailed
from demos.scenarios.scenes import SCENES, Scene
from demos.story import Teller, run_alone
from runtime.store import points
from runtime.store.points import EXIT_CODE

DEFAULT = "commit_step.before_commit"
IN_WORDS = {
    "begin": "the transaction has begun and no statement of the verb has run",
    "own": "a statement that the app handed over has run, within an open transaction",
    "first_row": "the first row of a new file is written, within an open transaction",
    "application_id": "the new file is marked as one of its kind, within an open transaction",
    "version": "the migration is entered in the list of those that have run, within an open transaction",
    "user_version": "the file's own number of its schema is raised, within an open transaction",
    "before_commit": "every statement has run, the COMMIT has not been sent",
    "after_commit": "COMMIT has returned, and nobody has been told the answer",
}
WRITES = re.compile(r"(insert into|update|delete from|create (?:unique )?(?:table|index)) \w+")
MOST_SHOWN = 24
TABLE = re.compile(r"\b(?:keepstep|inbox)_\w+")


async def tell(teller: Teller, folder: Path, at: str = DEFAULT) -> None:
    """The whole demo, for one point."""
    verb, where = split(at)
    teller.title(f"crash: a process ends at {at}")
    teller.say(f"The point: {explained(at)}. A child process is armed to end there, without any clean-up (os._exit).")
    for scene in SCENES:
        if scene.verb == verb and await _played(teller, Path(mkdtemp(dir=folder)), at, scene):
            return
    raise ChildFailed(f"no scene of {verb} comes past {where!r}")


def split(at: str) -> tuple[str, str]:
    """Verb and place of a point; `InvalidValue` for one that does not exist."""
    verb, _, where = points.check(at, "--at").partition(".")
    return verb, where


def explained(at: str) -> str:
    """What has happened when a process comes to a point, in words."""
    verb, where = split(at)
    ran = f"the statement {where!r} of {verb}{_does(points.every()[at])} has run, within an open transaction"
    return IN_WORDS.get(where, ran)


def _does(sql: str) -> str:
    writes = WRITES.match(sql)
    if writes is not None:
        return f" ({writes[0]})"
    read = dict.fromkeys(TABLE.findall(sql))
    return f" (it reads {', '.join(read)})" if read else ""


def by_verb() -> Mapping[str, list[str]]:
    """Every point's place, by verb."""
    found: dict[str, list[str]] = {}
    for name in points.names():
        verb, _, where = name.partition(".")
        found.setdefault(verb, []).append(where)
    return found


async def _played(teller: Teller, folder: Path, at: str, scene: Scene) -> bool:
    """One scene; False if it does not come past the point."""
    arguments = await scene.prepare(folder)
    before = await scene.look(folder / scene.file)
    whole = folder.with_name(f"{folder.name}-whole")
    shutil.copytree(folder, whole)
    code = await scene.crash(folder, at, arguments)
    if code != EXIT_CODE:
        return False
    word = await scene.call(whole, arguments)
    after = await scene.look(whole / scene.file)
    left = await scene.look(folder / scene.file)
    tells = scene.tells[:1].lower() + scene.tells[1:]
    teller.say(f"The scene: {tells} Uninterrupted, the call answers {word!r} and changes these tables:")
    teller.saw(f"{scene.verb}({_shown(arguments)})", _changed(before, after) or "nothing")
    teller.say("Now the same call in the child that ends at the point, and the file read by a new process afterwards:")
    teller.saw("exit code of the child", code)
    teller.saw("tables that differ from before the call", _changed(before, left) or "none")
    if left == after != before:
        teller.say("The commit counts, though nobody heard of it: the file is as after the whole call. Asked again:")
    elif left == before:
        teller.say("Nothing of it is there: half a call does not exist. Asked again:")
    teller.saw(f"{scene.verb}, the same call", await scene.call(folder, arguments))
    differs = _changed(after, await scene.look(folder / scene.file))
    record = f"{', '.join(differs)}: the refused repeat is on record"
    teller.saw("differs from one whole call", record if differs else "nothing")
    return True


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [table for table in after if before.get(table) != after[table]]


def _shown(arguments: Arguments) -> str:
    shown = [str(value) for name, value in arguments.items() if isinstance(value, (str, int)) and name != "now"]
    return ", ".join(value if len(value) <= MOST_SHOWN else f"{value[:MOST_SHOWN]}…" for value in shown)


if __name__ == "__main__":
    run_alone(tell)

"""Named points at which a process can be made to end, to show what a crash there leaves.

A point is `<verb>.begin`, `<verb>.<statement>` after each named statement, `<verb>.before_commit`,
`<verb>.after_commit`; opening a file that lacks its schema is the verb `upgrade`, or `upgrade_inbox` for a receiver's.
What only opens, keeps or drops a transaction or a savepoint has none.
`KEEPSTEP_CRASH_AT=commit_step.before_commit` (`…:3` for the third time) arms one; nothing else ever does.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from runtime.protocol.errors import InvalidValue
from runtime.store import statements

VARIABLE = "KEEPSTEP_CRASH_AT"
EXIT_CODE = 73
UPGRADES = {"upgrade": "migrations", "upgrade_inbox": "migrations/inbox"}
# what an upgrade runs after a migration's own statements
RECORD = ("first_row", "application_id", "version", "user_version")


def names() -> list[str]:
    """Every point of every verb, in the order of the files' statements."""
    return list(every())


@cache
def every() -> Mapping[str, str]:
    """Every point with the text of the statement that has run just before it, empty where that is none of a file's."""
    found: dict[str, str] = {}
    for verb, run in (*statements.by_verb().items(), *_upgrades()):
        places = {"begin": "", **run, "before_commit": "", "after_commit": ""}
        found.update({f"{verb}.{place}": sql for place, sql in places.items()})
    return found


def _upgrades() -> Iterator[tuple[str, dict[str, str]]]:
    for verb, folder in UPGRADES.items():
        made = {part: sql for _, _, parts in statements.numbered(folder) for part, sql in parts.items()}
        yield verb, made | dict.fromkeys(RECORD, "")


def check(name: str, place: str) -> str:
    """The name of a point; `InvalidValue` at `place` for one that does not exist, with those that come next to it."""
    if name in every():
        return name
    verb = name.partition(".")[0]
    places = [point.partition(".")[2] for point in every() if point.startswith(f"{verb}.")]
    if places:
        expected = f"{verb} has {', '.join(places)}"
    else:
        verbs = dict.fromkeys(point.partition(".")[0] for point in every())
        expected = f"a verb's name, a dot and a place are expected, as in commit_step.begin; verbs: {', '.join(verbs)}"
    raise InvalidValue(place, f"{name!r} is no point; {expected}; `python -m runtime demo crash --list` shows them all")


def parsed(setting: str, place: str = VARIABLE) -> tuple[str, int]:
    """Name and count of `<point>` or `<point>:<count>`; `InvalidValue` at `place` for anything else."""
    name, colon, count = setting.partition(":")
    check(name, place)
    if colon and not (count.isascii() and count.isdigit() and int(count)):
        raise InvalidValue(place, f"{setting!r}: behind the colon a number from 1 is expected, the time that counts")
    return name, int(count or 1)


def name_of(verb: str, place: str) -> str:
    """A point's name; a statement as the place may have its file's name before it."""
    return f"{verb}.{place.rpartition('.')[2]}"


def by_name(heard: Callable[[str], object]) -> Callable[[str, str], None]:
    """What `reach` can be replaced by to hear the points' names, which are put together only where somebody listens."""

    def reach(verb: str, place: str) -> None:
        heard(name_of(verb, place))

    return reach


def _nothing(verb: str, place: str) -> None:
    return


def _armed(wanted: str, count: int) -> Callable[[str, str], None]:
    left = [count]

    def heard(name: str) -> None:
        if name == wanted:
            left[0] -= 1
            if left[0] == 0:
                os._exit(EXIT_CODE)

    return by_name(heard)


SETTING = os.environ.get(VARIABLE)
reach: Callable[[str, str], None] = _armed(*parsed(SETTING)) if SETTING else _nothing


def reach_each(verbs: Iterable[str], statement: str) -> None:
    """A statement that a group's verbs have in common has run: the point of each verb that names it."""
    for verb in verbs:
        if name_of(verb, statement) in every():
            reach(verb, statement)

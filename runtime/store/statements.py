"""Loads the SQL files: each holds named statements under `-- name: word` lines, with bound parameters only.

The file of a verb says under `-- uses:` which statements of other files it runs too: `word` of `transaction`, or
`file.word`; `own` stands for the statements that an app hands over.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
USES = re.compile(r"^-- uses:([\w. ]*)$", re.MULTILINE)
SHARED = "transaction"
OWN = "own"


def parse(text: str) -> dict[str, str]:
    """The statements of one file by name, in order, without the header."""
    parts = NAME.split(text)[1:]
    return {name: _statement(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _statement(body: str) -> str:
    lines = [line for line in body.strip().splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().removesuffix(";")


def _texts(folder: str) -> dict[str, str]:
    entries = sorted(files("runtime.store").joinpath(folder).iterdir(), key=lambda entry: entry.name)
    return {
        entry.name.removesuffix(".sqlite.sql"): entry.read_text("utf-8")
        for entry in entries
        if entry.name.endswith(".sqlite.sql")
    }


@cache
def every() -> Mapping[str, str]:
    """Every statement as `<file>.<name>`."""
    return {
        f"{file}.{name}": sql for file, text in _texts("sql").items() for name, sql in parse(text).items()
    }


@cache
def load(file: str) -> Mapping[str, str]:
    """The statements of one file by their names."""
    return parse(_texts("sql")[file])


@cache
def by_verb() -> Mapping[str, Mapping[str, str]]:
    """What each verb may run, by the statements' words: its own file's, then those that it uses; `own` has no text."""
    found = {}
    for file, text in _texts("sql").items():
        lines = USES.findall(text)
        if lines:
            found[file] = parse(text) | dict(map(_used, " ".join(lines).split()))
    return found


def _used(word: str) -> tuple[str, str]:
    if word == OWN:
        return word, ""
    file, _, name = word.rpartition(".")
    return name, every()[f"{file or SHARED}.{name}"]


@cache
def numbered(folder: str) -> tuple[tuple[int, str, Mapping[str, str]], ...]:
    """The migrations of a folder of this room: number, name, statements; in order."""
    found = []
    for file, text in _texts(folder).items():
        number, _, name = file.partition("_")
        found.append((int(number), name, parse(text)))
    return tuple(found)

"""Loads the SQL files: each holds named statements under `-- name: word` lines, with bound parameters only."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
USES = re.compile(r"^-- uses: ([\w ]+)$", re.MULTILINE)


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
def by_verb() -> Mapping[str, tuple[str, ...]]:
    """The names of the statements that each verb may run: its own, then the shared ones that it uses."""
    found = {}
    for file, text in _texts("sql").items():
        uses = USES.search(text)
        if uses is not None:
            found[file] = (*parse(text), *uses.group(1).split())
    return found


@cache
def numbered(folder: str) -> tuple[tuple[int, str, Mapping[str, str]], ...]:
    """The migrations of a folder of this room: number, name, statements; in order."""
    found = []
    for file, text in _texts(folder).items():
        number, _, name = file.partition("_")
        found.append((int(number), name, parse(text)))
    return tuple(found)

"""Loads the SQL files: each holds named statements under `-- name: word` lines, with bound parameters only."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def parse(text: str) -> dict[str, str]:
    """The statements of one file by name, in order, without the header."""
    parts = NAME.split(text)[1:]
    return {name: body.strip().removesuffix(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


@cache
def load(name: str) -> Mapping[str, str]:
    """The statements of `sql/<name>.sqlite.sql`."""
    return parse(files("runtime.store").joinpath("sql", f"{name}.sqlite.sql").read_text("utf-8"))


@cache
def migrations() -> tuple[tuple[int, str, Mapping[str, str]], ...]:
    """The engine's migrations: number, name, statements; in order."""
    return numbered("migrations")


@cache
def numbered(folder: str) -> tuple[tuple[int, str, Mapping[str, str]], ...]:
    """The numbered files of a folder of this room."""
    found = []
    for entry in sorted(files("runtime.store").joinpath(folder).iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".sqlite.sql"):
            number, _, name = entry.name.removesuffix(".sqlite.sql").partition("_")
            found.append((int(number), name, parse(entry.read_text("utf-8"))))
    return tuple(found)

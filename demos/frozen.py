"""Every scenario group of the three documents, played afresh and compared field by field with what is frozen."""

import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

import demos
from demos.scenarios import GROUPS
from demos.story import scratch
from runtime.store.store import Store

FORMAT = 1
MOST_DIFFERENCES = 20
MISSING = "nothing"


async def played() -> AsyncIterator[tuple[str, Any]]:
    """Each group's name and what it gives, in a temporary folder of its own."""
    for name, group in GROUPS.items():
        with scratch() as folder:
            yield name, plain(await group(folder))


def plain(found: object) -> Any:
    """A result as it comes back from the file."""
    return msgspec.json.decode(msgspec.json.encode(found))


def place() -> Path:
    """The file that holds the frozen result."""
    return Path(demos.__path__[0]) / "results.json"


def frozen() -> dict[str, Any]:
    """The frozen result."""
    return dict(msgspec.json.decode(place().read_bytes()))


def document(groups: Mapping[str, Any]) -> bytes:
    """A result as it is written: keys in order, so that two runs give the same bytes."""
    data = msgspec.json.encode({"format": FORMAT, "groups": groups}, order="sorted")
    return msgspec.json.format(data, indent=1) + b"\n"


def differences(expected: Any, found: Any, place: str = "") -> Iterator[str]:
    """Where two results differ, one line for each field."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in dict.fromkeys([*expected, *found]):
            if key not in found or key not in expected:
                sides = (_short(expected[key]), MISSING) if key in expected else (MISSING, _short(found[key]))
                yield f"{place}.{key}: {sides[0]} is frozen, {sides[1]} was found"
            else:
                yield from differences(expected[key], found[key], f"{place}.{key}" if place else str(key))
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, pair in enumerate(zip(expected, found, strict=True)):
            yield from differences(*pair, f"{place}[{index}]")
    elif expected != found or type(expected) is not type(found):
        yield f"{place}: {_short(expected)} is frozen, {_short(found)} was found"


async def versions() -> str:
    """What this runs on: shown, not frozen."""
    with scratch() as folder:
        async with await Store.open(folder / "version.db") as store:
            ((engine,),) = await store.query("select sqlite_version()")
    return f"Python {sys.version.split()[0]}, SQLite {engine}"


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else text[:117] + "…"

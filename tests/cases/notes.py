"""What handlers note while they run, also in other processes: lines of JSON in the case's folder, and gates there."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from workers import Context

VARIABLE = "CASES_FOLDER"
POLL_S = 0.01
SLACK = 2  # times in the cases are for a quiet machine; a busy one may take twice as long


def folder() -> Path:
    """The case's folder, in a process that a case has started."""
    return Path(os.environ[VARIABLE])


def note(ctx: Context, what: str, **more: Any) -> None:
    """One line, whole, even when many processes write at once."""
    entry = {"what": what, "job": ctx.id, "step": ctx.step, "generation": ctx.generation, "attempt": ctx.attempt}
    line = json.dumps({**entry, "pid": os.getpid(), "at_ms": time.time_ns() // 1_000_000, **more}) + "\n"
    with open(folder() / "notes.jsonl", "ab", buffering=0) as file:
        file.write(line.encode())


def notes(place: Path, what: str | None = None, job: str | None = None) -> list[dict[str, Any]]:
    """The lines so far, in the order in which they were written."""
    path = place / "notes.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    entries = [json.loads(line) for line in lines]
    return [entry for entry in entries if what in (None, entry["what"]) and job in (None, entry["job"])]


def begun(place: Path, times: int, job: str | None = None) -> Callable[[], bool]:
    """A condition for `until`: handlers have begun so many times."""
    return lambda: len(notes(place, "begin", job)) >= times


async def gate(name: str) -> None:
    """Wait in a handler until the case has opened this gate."""
    while not (folder() / name).exists():  # noqa: ASYNC110  another process opens it
        await anyio.sleep(POLL_S)


def open_gate(place: Path, name: str) -> None:
    """Let the handlers behind this gate go on."""
    (place / name).touch()


async def until(condition: Callable[[], Any], within_s: float = 10.0) -> Any:
    """Wait for what another process, or the clock, brings about; `condition` may be an async function."""
    deadline = time.monotonic() + within_s
    while True:
        found = condition()
        if hasattr(found, "__await__"):
            found = await found
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within_s} s: {condition!r} is still {found!r}"
        await anyio.sleep(POLL_S)

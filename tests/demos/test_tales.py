"""The demos tell what the store really answers; nothing is left behind, and a result that differs is seen."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from demos import crash, drain, fair, frozen, migrate, points, relay
from demos.scenarios import GROUPS
from demos.story import Teller
from runtime.cli.app import main
from runtime.protocol.errors import InvalidValue
from runtime.store import points as points_of_the_store

TALES: dict[str, tuple[Callable[[Teller, Path], Awaitable[None]], list[str]]] = {
    "points": (points.tell, ["10 + 1 = 11", "3 + 10 = 13", "10 + 10 = 20", "1 unfinished job of V1", "→ 11", "→ 13"]),
    "drain": (drain.tell, ["→ closed", "→ replay", "1 quarantined", "→ redriven", "paused, version 2", "→ stale"]),
    "relay": (relay.tell, ["a1, accepted, done", "duplicate", "conflict", "gap, retry", "unsupported", "e1, accepted"]),
    "fair": (fair.tell, ["a1, b1, a2", "old1, old2, n1, old3", "old1, n1, n2, n3", "never by name, still 3"]),
    "migrate": (migrate.tell, ["→ refused", "→ recovered", "→ migrated", "→ stale", "→ 11, 13", "→ V1, V2"]),
}


async def told(tale: Callable[[Teller, Path], Awaitable[None]], folder: Path) -> str:
    """What a tale says."""
    lines: list[str] = []
    await tale(Teller(lines.append), folder)
    assert max(map(len, lines)) <= 100
    return "\n".join(lines)


@pytest.mark.parametrize("name", TALES)
async def test_a_tale_says_what_it_promises(name: str, tmp_path: Path) -> None:
    tale, promises = TALES[name]
    text = await told(tale, tmp_path)
    assert [promise for promise in promises if promise not in text] == []


@pytest.mark.parametrize(
    ("at", "promises"),
    [
        ("commit_step.before_commit", ["→ 73", "→ none", "→ advanced", "→ nothing"]),
        ("commit_step.after_commit", ["→ 73", "The commit counts", "→ stale"]),
        ("admit.jobs", ["(insert into keepstep_job) has run, within an open transaction", "→ accepted"]),
        ("ensure_schema.own", ["a statement that the app handed over has run", "→ none", "→ True", "→ nothing"]),
        ("receive.apply", ["(insert into inbox_flow)", "→ none", "→ accepted", "→ nothing"]),
        ("upgrade.flow", ["(create table keepstep_flow)", "→ none", "→ opened", "→ nothing"]),
        ("upgrade_inbox.after_commit", ["The commit counts", "→ opened", "→ nothing"]),
    ],
)
async def test_a_crash_is_explained(at: str, promises: list[str], tmp_path: Path) -> None:
    text = " ".join((await told(partial(crash.tell, at=at), tmp_path)).split())
    assert [promise for promise in promises if promise not in text] == []


def test_every_point_is_explained_and_none_that_speaks_of_a_statement_leaves_its_table_out() -> None:
    def lacks(name: str, words: str) -> bool:
        verb, where = crash.split(name)
        table = re.search(r"\((it reads |[a-z ]+ )(keepstep|inbox)_\w+", words)
        return table is None or f"the statement {where!r} of {verb} " not in words

    told = {name: crash.explained(name) for name in points_of_the_store.names()}
    general = set(crash.IN_WORDS.values())
    assert [name for name, words in told.items() if words not in general and lacks(name, words)] == []
    assert general <= set(told.values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("commit_step.nowhere", r"'commit_step\.nowhere' is no point; commit_step has begin, .*demo crash --list"),
        ("nowhere", r"'nowhere' is no point; a verb's name, a dot and a place are expected, .*demo crash --list"),
    ],
)
def test_a_point_that_does_not_exist_is_named_with_what_was_expected(name: str, expected: str) -> None:
    with pytest.raises(InvalidValue, match=f"^--at: {expected}"):
        crash.split(name)
    with pytest.raises(InvalidValue, match=f"^KEEPSTEP_CRASH_AT: {expected}"):
        points_of_the_store.parsed(name)


def test_the_frozen_result_has_every_group_of_the_three_documents() -> None:
    kept = frozen.frozen()["groups"]
    assert list(kept) == sorted(GROUPS)
    assert [sum(name.startswith(f"{number}.") for name in kept) for number in (12, 14, 15)] == [16, 9, 10]


async def test_a_group_played_afresh_is_as_frozen(tmp_path: Path) -> None:
    name = "12.02 rotation"
    found = frozen.plain(await GROUPS[name](tmp_path))
    assert list(frozen.differences(frozen.frozen()["groups"][name], found, name)) == []


@pytest.mark.parametrize(
    ("found", "line"),
    [
        ({"a": [1, 2], "b": "x"}, "g.a[1]: 3 is frozen, 2 was found"),
        ({"a": [1, 3]}, 'g.b: "x" is frozen, nothing was found'),
        ({"a": [1, 3], "b": "x", "c": None}, "g.c: nothing is frozen, null was found"),
        ({"a": [1], "b": "x"}, "g.a: [1,3] is frozen, [1] was found"),
        ({"a": [True, 3], "b": "x"}, "g.a[0]: 1 is frozen, true was found"),
    ],
)
def test_a_difference_names_its_place(found: dict[str, Any], line: str) -> None:
    assert list(frozen.differences({"a": [1, 3], "b": "x"}, found, "g")) == [line]


def test_the_list_names_every_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"library", "points", "drain", "relay", "fair", "crash", "migrate", "all"} <= set(names)


def test_crash_lists_every_point(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "crash", "--list"]) == 0
    lines = [line.partition(": ") for line in capsys.readouterr().out.splitlines()]
    assert [f"{verb}.{where}" for verb, _, places in lines for where in places.split()] == points_of_the_store.names()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_demo_that_is_ended_midway_leaves_no_folder(number: signal.Signals, tmp_path: Path) -> None:
    # a shell that put this run into the background had it ignore interrupts, and a child inherits that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-u", "-m", "runtime", "demo", "crash"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)}) as child:
        assert child.stdout is not None
        while not child.stdout.readline().startswith(b"crash: "):
            assert child.poll() is None
        assert [path.name.startswith("keepstep-demo-") for path in tmp_path.iterdir()] == [True]
        child.send_signal(number)
        child.stdout.read()
        assert child.wait(20) == 130
    assert list(tmp_path.iterdir()) == []

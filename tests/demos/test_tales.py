"""The demos tell what the store really answers; nothing is left behind, and a result that differs is seen."""

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
        ("admit.jobs", ["within an open transaction", "→ accepted"]),
    ],
)
async def test_a_crash_is_explained(at: str, promises: list[str], tmp_path: Path) -> None:
    text = await told(partial(crash.tell, at=at), tmp_path)
    assert [promise for promise in promises if promise not in text] == []


def test_a_point_that_does_not_exist_is_named() -> None:
    with pytest.raises(InvalidValue, match=r"'commit_step\.nowhere' is no point.*demo crash --list"):
        crash.split("commit_step.nowhere")


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
    assert "commit_step: begin " in capsys.readouterr().out

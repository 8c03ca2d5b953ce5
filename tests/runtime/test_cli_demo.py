"""`demo all`: what is frozen is replaced only when that is asked for in so many words."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from demos import frozen
from tests.runtime.cli import Cli


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small frozen result, and a run that gives something else."""
    path = tmp_path / "results.json"
    path.write_bytes(frozen.document({"1 group": {"seen": 1}}))

    async def played() -> AsyncIterator[tuple[str, Any]]:
        yield "1 group", {"seen": 2}

    monkeypatch.setattr(frozen, "place", lambda: path)
    monkeypatch.setattr(frozen, "played", played)
    return path


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path / "unused.db", capsys)


def test_a_difference_is_named_and_fails_the_check(run: Cli, kept: Path) -> None:
    before = kept.read_bytes()
    ended = run.bare("demo", "all", "--check")
    assert ended.code == 1
    assert "1 group.seen: 1 is frozen, 2 was found" in ended.out
    assert kept.read_bytes() == before


def test_a_fresh_result_goes_into_the_file_that_is_named(run: Cli, kept: Path, tmp_path: Path) -> None:
    before = kept.read_bytes()
    assert run.bare("demo", "all", "--output", str(tmp_path / "fresh.json")).code == 0
    assert (tmp_path / "fresh.json").read_bytes() == frozen.document({"1 group": {"seen": 2}})
    assert kept.read_bytes() == before


@pytest.mark.parametrize("name", ["results.json", "link.json", "hard.json"])
def test_the_frozen_file_is_no_output_under_whatever_name(run: Cli, kept: Path, name: str) -> None:
    before = kept.read_bytes()
    kept.with_name("link.json").symlink_to(kept)
    os.link(kept, kept.with_name("hard.json"))
    ended = run.bare("demo", "all", "--output", str(kept.with_name(name)))
    assert ended.code != 0
    assert "--rebaseline" in ended.err
    assert kept.read_bytes() == before


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_played(run: Cli, kept: Path) -> None:
    for path in (kept.parent, kept.parent / "missing" / "fresh.json"):
        ended = run.bare("demo", "all", "--output", str(path))
        assert ended.code != 0
        assert "cannot be written" in ended.err
        assert ended.out == ""


def test_a_new_baseline_is_asked_for_in_so_many_words(run: Cli, kept: Path) -> None:
    assert run.bare("demo", "all", "--rebaseline").code == 0
    assert frozen.frozen()["groups"] == {"1 group": {"seen": 2}}
    assert run.bare("demo", "all", "--check").code == 0

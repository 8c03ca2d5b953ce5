"""A process of ours runs on uvloop where that is installed, and on asyncio's loop where it is not."""

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from runtime import loop


async def _running(word: str) -> str:
    return f"{word} {type(asyncio.get_running_loop()).__module__.partition('.')[0]}"


def test_it_runs_on_the_loop_that_it_names() -> None:
    assert loop.run(_running, "on") == f"on {loop.name()}"


def test_where_uvloop_cannot_be_imported_it_is_asyncios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "uvloop.py").write_text("raise ImportError('built for another Python')")
    monkeypatch.delitem(sys.modules, "uvloop", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert loop.run(_running, "on") == "on asyncio"


@pytest.mark.skipif(find_spec("uvloop") is None, reason="the extra `fast` is not installed")
def test_with_uvloop_it_is_uvloops() -> None:
    assert loop.run(_running, "on") == "on uvloop"

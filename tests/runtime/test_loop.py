"""A process of ours runs on uvloop where that is installed, and on asyncio's loop where it is not."""

import asyncio
from importlib.util import find_spec

import pytest

from runtime import loop


async def _running(word: str) -> str:
    return f"{word} {type(asyncio.get_running_loop()).__module__.partition('.')[0]}"


def test_it_runs_on_the_loop_that_it_names() -> None:
    assert loop.run(_running, "on") == f"on {loop.name()}"


def test_without_uvloop_it_is_asyncios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "find_spec", lambda name: None)
    assert loop.run(_running, "on") == "on asyncio"


@pytest.mark.skipif(find_spec("uvloop") is None, reason="the extra `fast` is not installed")
def test_with_uvloop_it_is_uvloops() -> None:
    assert loop.run(_running, "on") == "on uvloop"

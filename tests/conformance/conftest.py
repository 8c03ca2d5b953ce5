"""A small world for every test: a store and a receiver on a logical clock in a folder of their own."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from demos.scenarios.world import Facts, Item, World, play, world
from tests.conformance import table

Saw = Callable[[Item], Awaitable[Facts]]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[World]:
    """A new world."""
    async with world(tmp_path) as made:
        yield made


@pytest.fixture(params=["f", None], ids=["in-a-flow", "without-a-flow"])
def flow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Where the job of table T is: each such test is run both ways."""
    monkeypatch.setattr(table, "FLOW", request.param)
    chosen: str | None = request.param
    return chosen


@pytest.fixture
def saw(tmp_path: Path) -> Saw:
    """Plays one of the demos' scenarios afresh and returns what it saw."""

    async def played(item: Item) -> Facts:
        facts: Facts = (await play(item, tmp_path))["facts"]
        return facts

    return played

"""Where a case plays: a folder of its own, a store on the wall clock or on the logical one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.store.store import Store


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """The database file of a case; what its handlers note stands in the same folder."""
    return tmp_path / "app.db"


@pytest.fixture
async def store(db: Path) -> AsyncIterator[Store]:
    """A store on the wall clock, as an operator has it open."""
    async with await Store.open(db) as made:
        yield made


@pytest.fixture
async def logical(db: Path) -> AsyncIterator[Store]:
    """A store on the logical clock."""
    async with await Store.open(db, clock="logical", store_id="store-1") as made:
        yield made

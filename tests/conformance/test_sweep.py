"""sweep: a burst of due jobs is moved in parts on the wall clock, and whole on a logical one (contract §7)."""

from pathlib import Path

import pytest

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY
from runtime.protocol.errors import InvalidValue
from runtime.protocol.records import Admission, Callback
from runtime.store.store import Store


async def waiting(store: Store, count: int) -> None:
    """So many jobs that wait and are due at once."""
    await store.register(RELAY)
    await store.switch(RELAY.digest, 0)
    await store.admit_many([Admission("relay", f"j{number}", 1) for number in range(count)])
    claims = (await store.claim(count, W1)).claims
    await store.fail_many([Callback(claim.token, "again", after=0) for claim in claims])


async def test_a_sweep_moves_so_many_at_most_and_a_claim_begins_with_one(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db", sweep_limit=3, durability="normal") as store:
        await waiting(store, 10)
        assert [await store.sweep(), await store.sweep()] == [3, 3]
        assert len((await store.claim(20, W1)).claims) == 9
        assert [await store.sweep(), await store.sweep()] == [1, 0]


async def test_a_thousand_is_what_a_sweep_moves_if_nothing_else_is_said(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db", durability="normal") as store:
        await waiting(store, 1_100)
        assert [await store.sweep(), await store.sweep()] == [1_000, 100]


async def test_on_a_logical_clock_a_sweep_is_not_bounded(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db", clock="logical", sweep_limit=3) as store:
        await waiting(store, 10)
        assert await store.sweep() == 10


async def test_a_limit_is_a_number_from_one(tmp_path: Path) -> None:
    for bad in (0, True, "3"):
        with pytest.raises(InvalidValue, match="sweep_limit"):
            await Store.open(tmp_path / "a.db", sweep_limit=bad)  # type: ignore[arg-type]
    assert not (tmp_path / "a.db").exists()

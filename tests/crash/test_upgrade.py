"""A file of the first schema is brought up to date whole or not at all, and what was promised in it stands."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from demos.scenarios import gate
from demos.scenarios.cases import WORKER
from runtime.protocol.errors import NewerSchema
from runtime.store import points, statements
from runtime.store.store import Store
from runtime.store.turnstile import Turnstile
from tests.crash import first_file
from tests.crash.invariants import check

NEWEST = statements.numbered("migrations")[-1][0]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file of the first schema."""
    first_file.make(tmp_path / "old.db")
    return tmp_path / "old.db"


async def upgraded(path: Path) -> None:
    """Open the file once."""
    async with await Store.open(path, create=False):
        pass


async def test_its_counters_flows_and_turns_hold_together(old: Path) -> None:
    await upgraded(old)
    assert check(old) == []


async def test_its_jobs_are_as_they_were(old: Path) -> None:
    async with await Store.open(old, create=False) as store:
        found = {job.id: (job.flow, job.seq, job.state, job.attempts, job.due) for job in await store.jobs()}
        photo = await store.snapshot()
    assert found == {
        "waited": (None, 1, "ready", 0, None),
        "a1": ("a", 1, "inflight", 1, None),
        "a2": ("a", 2, "ready", 0, None),
        "a3": ("a", 3, "ready", 0, None),
        "later": (None, 1, "ready", 1, 9),
        "stuck": (None, 1, "quarantined", 1, None),
        "done": (None, 1, "done", 0, None),
        "free": ("w", 1, "ready", 0, None),
        "released": (None, 1, "ready", 1, None),
    }
    assert (photo.ticket, photo.effects, photo.jobs["done"]) == (5, 1, 1)


async def test_its_turns_come_in_their_order_a_tie_goes_to_the_older(old: Path) -> None:
    async with await Store.open(old, create=False) as store:
        first = (await store.claim(9, WORKER, now=1)).claims
        await store.redrive("stuck", 1, "repaired", now=1)
        second = (await store.claim(9, WORKER, now=9)).claims
    assert [(claim.token.job, claim.ticket) for claim in first] == [("waited", 6), ("released", 7), ("free", 8)]
    assert [claim.token.job for claim in second] == ["a1", "later", "stuck", "waited", "released", "free"]


async def test_a_new_flow_takes_no_number_of_an_old_one(old: Path) -> None:
    async with await Store.open(old, create=False) as store:
        await store.admit("note", "new", {"units": 1}, flow="new", now=1)
        assert (await store.job("done")).flow is None  # type: ignore[union-attr]
    assert check(old) == []


@pytest.mark.parametrize(
    "made",
    [
        "create view mine as select ticket from keepstep_control",
        "create view mine as select * from gone",
        "create table mine (a); create trigger gone after update on mine begin insert into gone values (1); end",
    ],
)
async def test_an_apps_own_view_or_trigger_that_fits_nothing_is_in_nobodys_way(old: Path, made: str) -> None:
    with closing(sqlite3.connect(old)) as raw:
        raw.executescript(made)
    await upgraded(old)
    assert check(old) == []


async def test_a_file_that_becomes_newer_while_it_is_opened_is_refused(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def enter(self: Turnstile, deadline: float) -> None:
        with closing(sqlite3.connect(old)) as raw:
            raw.execute(f"pragma user_version = {NEWEST + 1}")

    monkeypatch.setattr(Turnstile, "enter", enter)
    with pytest.raises(NewerSchema, match=f"number {NEWEST + 1}"):
        await upgraded(old)


async def test_killed_at_any_point_it_is_the_old_file_or_the_new_one(old: Path) -> None:
    before = first_file.told(old)
    limiter = anyio.CapacityLimiter(2)

    async def killed(point: str) -> None:
        copy = Path(shutil.copy(old, old.with_name(f"{point}.db")))
        async with limiter:
            assert await gate.crash(copy, point, "sweep", now=1) == 73, point
        if not point.endswith("after_commit"):
            assert first_file.told(copy) == before, point
        await upgraded(copy)
        assert check(copy) == []
        assert first_file.told(copy)[0] == f"version {NEWEST}"

    async with anyio.create_task_group() as group:
        for part in ("begin", *statements.numbered("migrations")[-1][2], "version", "user_version", "before_commit"):
            group.start_soon(killed, points.check(f"upgrade.{part}", "test"))
        group.start_soon(killed, "upgrade.after_commit")

"""Embedding: waiting for a job, own rows and admissions together, the helpers for tests of one's own handlers."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from anyio import create_task_group

from runtime import testing
from runtime.protocol.errors import InvalidValue, NoSuchJob, NotAdmitted, WriteFailed
from runtime.protocol.records import Admission, Answer
from runtime.protocol.verdicts import State, Verdict
from runtime.store import points
from runtime.store.store import Store
from workers import App, Context

app = App("points", abi="local-ledger/1")
app.schema("ledger", "create table ledger (job text primary key, units integer not null)")


@app.step
async def credit(ctx: Context, *, per_unit: int = 0, flat: int = 0) -> int:
    if per_unit and ctx.payload.get("fails") and ctx.attempt == 1:
        raise RuntimeError("once")
    return int(ctx.payload["units"] * per_unit + flat)


app.manifest([("base", credit, {"per_unit": 1}), ("bonus", credit, {"flat": 1})])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with testing.store(tmp_path / "test.db") as opened:
        await testing.prepare(app, opened)
        yield opened


async def test_a_job_that_is_done_gives_its_record_with_effects_and_its_result(store: Store) -> None:
    await app.admit(store, "a", {"units": 10})
    await testing.run_until_idle(app, store)
    finished = await store.wait_done("a", timeout=5)
    assert finished.record.state is State.DONE
    assert [effect.value for effect in finished.effects] == [10, 1]
    assert finished.result == 1


async def test_waiting_sees_a_job_that_is_done_later(store: Store) -> None:
    await app.admit(store, "a", {"units": 10})
    results = []

    async def wait() -> None:
        results.append((await store.wait_done("a", timeout=10)).result)

    async with create_task_group() as group:
        group.start_soon(wait)
        await testing.run_until_idle(app, store)
    assert results == [1]


async def test_waiting_for_a_job_that_does_not_exist_says_so(store: Store) -> None:
    with pytest.raises(NoSuchJob, match="nobody"):
        await store.wait_done("nobody", timeout=5)


async def test_waiting_ends_at_its_time(store: Store) -> None:
    await app.admit(store, "a", {"units": 10})
    with pytest.raises(TimeoutError):
        await store.wait_done("a", timeout=0.05)


async def test_a_backoff_waits_for_the_clock_that_is_moved_by_hand(store: Store) -> None:
    await app.admit(store, "a", {"units": 10, "fails": True})
    await testing.run_until_idle(app, store)
    job = await store.job("a")
    assert job is not None
    assert (job.attempts, job.due) == (1, 1000)
    assert await testing.advance(store, 999) == 999
    await testing.run_until_idle(app, store)
    assert (await store.snapshot()).jobs["waiting"] == 1
    await testing.advance(store, 1)
    await testing.run_until_idle(app, store)
    assert (await store.wait_done("a", timeout=5)).result == 1


async def test_a_pool_that_ends_when_nothing_is_left_pauses_the_drain_that_asked_for_it(store: Store) -> None:
    await app.admit(store, "j1", {"units": 10})
    await store.transition("drain", 0, pause_when_empty=True)
    await testing.run_until_idle(app, store)
    control = await store.control()
    assert (control.mode, control.version) == ("paused", 2)


async def test_own_rows_and_admissions_are_written_together(store: Store) -> None:
    insert = "insert into ledger values (?, ?)"
    answers = await store.write([(insert, ("a", 1))], admit=[Admission("points", "a", {"units": 1})])
    assert [answer.verdict for answer in answers if isinstance(answer, Answer)] == [Verdict.ACCEPTED]
    assert await store.query("select job, units from ledger") == [("a", 1)]


async def test_own_rows_are_not_written_when_an_admission_is_not_accepted(store: Store) -> None:
    await app.admit(store, "a", {"units": 1})
    insert = "insert into ledger values (?, ?)"
    items = [Admission("points", "b", {"units": 1}), Admission("points", "a", {"units": 2})]
    with pytest.raises(NotAdmitted, match="conflict"):
        await store.write([(insert, ("a", 1))], admit=items)
    assert await store.query("select * from ledger") == []
    assert await store.job("b") is None
    assert (await store.snapshot()).jobs["ready"] == 1


async def test_admissions_are_not_made_when_an_own_row_fails(store: Store) -> None:
    insert = "insert into ledger values (?, ?)"
    rows = [(insert, ("a", 1)), (insert, ("a", 2))]
    with pytest.raises(WriteFailed, match="UNIQUE"):
        await store.write(rows, admit=[Admission("points", "a", {"units": 1})])
    assert await store.job("a") is None
    assert await store.query("select * from ledger") == []


async def test_the_engines_own_tables_are_out_of_reach_of_own_rows(store: Store) -> None:
    with pytest.raises(WriteFailed, match="keepstep_control"):
        await store.write([("update keepstep_control set mode = 'open'",)])


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("nowhere", "'nowhere' is no point; a verb's name, a dot and a place are expected"),
        ("claim.nowhere", "'claim.nowhere' is no point; claim has begin, "),
        ("claim.pick:0", "behind the colon a number from 1 is expected"),
        ("claim.pick:", "behind the colon a number from 1 is expected"),
    ],
)
def test_a_crash_at_a_wrong_point_is_refused_with_what_was_expected(point: str, expected: str) -> None:
    with pytest.raises(InvalidValue, match=f"^point: .*{expected}"):
        testing.crash_at(point, "-c", "pass")


def test_a_process_that_is_armed_at_a_wrong_point_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(points.VARIABLE, "claim.nowhere")
    command = [sys.executable, "-m", "runtime", "db", "init", "--db", str(tmp_path / "new.db")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: KEEPSTEP_CRASH_AT: 'claim.nowhere' is no point; claim has begin, ")
    assert not (tmp_path / "new.db").exists()

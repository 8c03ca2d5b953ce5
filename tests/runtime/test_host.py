"""A pool over a real store: `run` in somebody's own program, its ends, its errors, and the barrier."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio import create_task_group, fail_after

from control.barrier import drain
from runtime.embed import connect, run
from runtime.protocol.errors import HandlerMismatch, InvalidValue
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Admission
from runtime.protocol.verdicts import Mode, State, Verdict
from runtime.stopping import Stop
from runtime.store.store import Store
from workers import App, Context, step

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with connect(tmp_path / "app.db") as opened:
        yield opened


class Points:
    """An app of two steps whose first one waits until it is let through, if `held`."""

    def __init__(self, *, held: bool = False, **policy: object) -> None:
        self.app = App("points", abi="local/1")
        self.entered, self.go_on = anyio.Event(), anyio.Event()
        self.calls: list[str] = []
        if not held:
            self.go_on.set()

        @self.app.step
        async def base(ctx: Context) -> int:
            self.calls.append(ctx.job)
            self.entered.set()
            await self.go_on.wait()
            return int(ctx.payload["units"])

        @self.app.step
        async def bonus(ctx: Context) -> int:
            return int(await ctx.effect("base")) + 1

        self.app.manifest([step("base", base, **policy), step("bonus", bonus)])  # type: ignore[arg-type]

    async def admit(self, store: Store, *jobs: str) -> None:
        await self.app.prepare(store)
        await store.admit_many([Admission("points", job, {"units": 10}) for job in jobs])


async def until(met: Callable[[], bool]) -> None:
    with fail_after(10):
        while not met():
            await anyio.lowlevel.checkpoint()


async def test_a_pool_works_off_what_is_there_and_ends_when_idle(store: Store) -> None:
    points = Points()
    await points.admit(store, *(f"j{number}" for number in range(100)))
    with fail_after(30):
        await run(points.app, store, concurrency=8, until_idle=True)
    snapshot = await store.snapshot()
    assert snapshot.jobs["done"] == 100
    assert [effect.value for effect in await store.effects("j7")] == [10, 11]
    assert snapshot.workers == ()


@pytest.mark.parametrize("flow", [None, "a"])
async def test_a_job_that_is_admitted_while_it_waits_is_run(store: Store, flow: str | None) -> None:
    points = Points()
    async with create_task_group() as group:
        group.start_soon(run, points.app, store)
        with fail_after(10):
            while not (await store.workers()):
                await anyio.lowlevel.checkpoint()
            await store.admit("points", "first", {"units": 10})
            await store.wait_done("first")
            await store.admit("points", "a", {"units": 10}, flow=flow)
            await store.wait_done("a")
        group.cancel_scope.cancel()


async def test_two_pools_share_the_work_and_each_job_is_run_once(store: Store, tmp_path: Path) -> None:
    points = Points()
    await points.admit(store, *(f"j{number}" for number in range(60)))
    async with connect(tmp_path / "app.db") as other, create_task_group() as group:
        group.start_soon(lambda: run(points.app, store, concurrency=2, until_idle=True))
        group.start_soon(lambda: run(points.app, other, concurrency=2, until_idle=True))
    await run(points.app, store, until_idle=True)
    assert sorted(points.calls) == sorted(f"j{number}" for number in range(60))
    assert (await store.snapshot()).jobs["done"] == 60


async def test_cancelled_from_outside_its_claims_are_ready_again_at_once(store: Store) -> None:
    points = Points(held=True)
    await points.admit(store, "a")
    async with create_task_group() as group:
        group.start_soon(run, points.app, store)
        await points.entered.wait()
        group.cancel_scope.cancel()
    job = await store.job("a")
    assert job is not None
    assert (job.state, job.attempts, job.generation) == (State.READY, 0, 1)
    assert [row.what for row in await store.history("a")] == ["released"]


async def test_a_stop_lets_the_step_finish_and_claims_no_more(store: Store) -> None:
    points, stop = Points(held=True), Stop(grace_s=60)
    await points.admit(store, "a", "b")
    async with create_task_group() as group:
        group.start_soon(lambda: run(points.app, store, concurrency=1, stop=stop))
        await points.entered.wait()
        stop.ask("the test ends")
        await anyio.wait_all_tasks_blocked()
        points.go_on.set()
    first, second = await store.job("a"), await store.job("b")
    assert first is not None
    assert second is not None
    assert (first.cursor, first.state) == (1, State.READY)
    assert second.generation == 0


async def test_after_the_grace_a_step_is_cancelled_and_handed_back(store: Store) -> None:
    points, stop = Points(held=True), Stop(grace_s=0)
    await points.admit(store, "a")
    async with create_task_group() as group:
        group.start_soon(lambda: run(points.app, store, stop=stop))
        await points.entered.wait()
        stop.ask("the test ends")
    job = await store.job("a")
    assert job is not None
    assert (job.state, job.attempts) == (State.READY, 0)


async def test_under_hold_a_step_that_had_begun_is_quarantined_by_a_stop(store: Store) -> None:
    points, stop = Points(held=True, on_lapse="hold"), Stop(grace_s=0)
    await points.admit(store, "a")
    async with create_task_group() as group:
        group.start_soon(lambda: run(points.app, store, stop=stop))
        await points.entered.wait()
        stop.ask("the test ends")
    job = await store.job("a")
    assert job is not None
    assert job.state is State.QUARANTINED
    assert "outcome unknown" in (job.reason or "")


async def test_a_handler_whose_job_an_operator_takes_away_is_cancelled(store: Store) -> None:
    points = Points(held=True, lease="300ms")
    await points.admit(store, "a")
    async with create_task_group() as group:
        group.start_soon(lambda: run(points.app, store, concurrency=1))
        await points.entered.wait()
        answer = await store.recover("a", 1, "the service is dead")
        assert answer.verdict is Verdict.RECOVERED
        await until(lambda: len(points.calls) == 2)
        points.go_on.set()
        with fail_after(10):
            await store.wait_done("a", timeout=10)
        group.cancel_scope.cancel()
    assert next(effect.generation for effect in await store.effects("a")) == 3


async def test_a_drain_that_asked_for_it_is_paused_by_a_live_pool(store: Store) -> None:
    points = Points(held=True)
    await points.admit(store, "a")
    async with create_task_group() as group:
        group.start_soon(run, points.app, store)
        await points.entered.wait()
        assert (await drain(store)).answer.verdict is Verdict.DRAINING
        points.go_on.set()
        with fail_after(10):
            while (await store.control()).mode != Mode.PAUSED:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert (await store.snapshot()).jobs["done"] == 1


async def test_an_app_whose_manifest_names_no_handler_of_its_is_refused(store: Store) -> None:
    app = App("points", abi="local/1")
    app.declare(Manifest("points", "local/1", (Step("base", "missing"),)))
    with pytest.raises(HandlerMismatch, match="missing"):
        await run(app, store)
    assert await store.definitions() == []


async def test_a_lease_that_cannot_be_renewed_in_time_is_refused_with_both_values(store: Store) -> None:
    with pytest.raises(InvalidValue, match=r"at least 300 ms .* got 200 ms"):
        await run(Points(lease="200ms").app, store)


async def test_a_route_that_somebody_set_is_left_alone(store: Store) -> None:
    first = Points()
    await first.app.prepare(store)
    second = Points(budget=7)
    await run(second.app, store, until_idle=True)
    (route,) = (await store.snapshot()).routes
    assert (route.digest, route.revision) == (first.app.manifests[0].digest, 1)
    assert len(await store.definitions()) == 2

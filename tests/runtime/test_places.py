"""The places of a pool: rows of attempts in one task, and what one attempt may not do to the next."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from anyio import CancelScope, Event, create_task_group, current_effective_deadline, fail_after

from runtime import places as rooms
from runtime.places import LEFT_OPEN, Places
from runtime.protocol.ports import Outcome
from runtime.protocol.records import Claim, Commit
from runtime.protocol.verdicts import Verdict
from tests.runtime.stand_ins import Runner, claim
from tests.workers.desk import claim as claim_of
from tests.workers.desk import commit, worker
from workers import App, Context, step
from workers.attempt import LATEST_S


class Pool:
    """Places over a stand-in runner; `over` counts what has ended."""

    def __init__(self, handler: Callable[[Claim], Awaitable[object]], count: int) -> None:
        self.runner = Runner(handler)
        self.places = Places(self.runner, count, self._wake)
        self._more = Event()

    def _wake(self) -> None:
        self._more.set()

    async def ended(self, count: int) -> list[Outcome | None]:
        """Waits until so many attempts have ended; their outcomes."""
        with fail_after(10):
            while len(self.places.outcomes) < count:
                self._more = Event()
                await self._more.wait()
        return [flight.outcome for flight in self.places.outcomes]


def task() -> str | None:
    return anyio.get_current_task().name


async def test_handlers_that_never_wait_are_run_in_a_row_by_one_place() -> None:
    tasks = []

    async def quick(claim: Claim) -> None:
        tasks.append(task())

    pool = Pool(quick, 32)
    async with create_task_group() as group:
        pool.places.start(group)
        await anyio.wait_all_tasks_blocked()
        pool.places.give([claim(f"j{n}") for n in range(32)])
        await pool.ended(32)
        group.cancel_scope.cancel()
    assert pool.runner.started == [f"j{n}" for n in range(32)]
    assert len(set(tasks)) == 1
    assert pool.places.free == 32


@pytest.mark.parametrize(("waiting", "woken"), [(False, [1, 1]), (True, [1, 1, 2, 2, 2])])
async def test_a_row_wakes_one_place_in_vain_and_handlers_that_wait_wake_two_each(
    monkeypatch: pytest.MonkeyPatch, waiting: bool, woken: list[int]
) -> None:
    open_gate, asked = Event(), []
    rouse = Places._rouse

    async def handler(claim: Claim) -> None:
        if waiting:
            await open_gate.wait()

    def roused(places: Places, most: int) -> None:
        asked.append(most)
        rouse(places, most)

    monkeypatch.setattr(Places, "_rouse", roused)
    pool = Pool(handler, 32)
    async with create_task_group() as group:
        pool.places.start(group)
        await anyio.wait_all_tasks_blocked()
        pool.places.give([claim(f"j{n}") for n in range(32)])
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert asked[:5] == woken


@pytest.mark.parametrize("count", [1, 2, 3, 5, 32])
async def test_handlers_that_wait_all_run_at_once(count: int) -> None:
    open_gate = Event()

    async def waits(claim: Claim) -> None:
        await open_gate.wait()

    pool = Pool(waits, 32)
    async with create_task_group() as group:
        pool.places.start(group)
        await anyio.wait_all_tasks_blocked()
        pool.places.give([claim(f"j{n}") for n in range(count)])
        await anyio.wait_all_tasks_blocked()
        assert pool.runner.running == count
        assert pool.places.free == 32 - count
        open_gate.set()
        await pool.ended(count)
        group.cancel_scope.cancel()


async def test_a_claim_that_comes_while_others_wait_is_begun_too() -> None:
    open_gate = Event()

    async def waits(claim: Claim) -> None:
        await open_gate.wait()

    pool = Pool(waits, 3)
    async with create_task_group() as group:
        pool.places.start(group)
        for job in "abc":
            pool.places.give([claim(job)])
            await anyio.wait_all_tasks_blocked()
        assert pool.runner.started == ["a", "b", "c"]
        open_gate.set()
        await pool.ended(3)
        group.cancel_scope.cancel()


@pytest.mark.parametrize("tells", [True, False])
async def test_a_scope_left_open_fails_its_own_attempt_and_does_not_reach_the_next(
    tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tells:  # an anyio that does not show what is open in a scope
        monkeypatch.setattr(rooms, "is_clean", lambda scope: False)

    async def handler(claim: Claim) -> float:
        if claim.token.job == "careless":
            CancelScope(deadline=time.monotonic() - 1).__enter__()
        else:
            await anyio.lowlevel.checkpoint()
        return current_effective_deadline()

    pool = Pool(handler, 1)
    async with create_task_group() as group:
        pool.places.start(group)
        pool.places.give([claim("careless")])
        await pool.ended(1)
        pool.places.give([claim("next")])
        first, second = await pool.ended(2)
        group.cancel_scope.cancel()
    assert first is not None
    assert (first.verb, first.item.reason) == ("fail", LEFT_OPEN)  # type: ignore[union-attr]
    assert second is not None
    assert (second.verb, second.item.value) == ("commit_step", math.inf)  # type: ignore[union-attr]


async def test_claims_that_no_place_has_begun_are_handed_back_when_the_pool_is_cancelled() -> None:
    async def stops(claim: Claim) -> None:
        group.cancel_scope.cancel()
        await anyio.sleep_forever()

    pool = Pool(stops, 3)
    async with create_task_group() as group:
        pool.places.start(group)
        await anyio.wait_all_tasks_blocked()
        pool.places.give([claim(job) for job in "abc"])
    outcomes = [flight.outcome for flight in pool.places.outcomes]
    assert [outcome.verb for outcome in outcomes if outcome is not None] == ["release"] * 3
    assert pool.runner.started == ["a"]
    assert pool.places.free == 3


async def test_a_claim_lost_before_its_handler_began_is_not_begun() -> None:
    async def loses(claim: Claim) -> None:
        for flight in tuple(pool.places.flights):
            if flight.claim.token.job == "b":
                pool.places.lose(flight, Verdict.STALE)

    pool = Pool(loses, 3)
    async with create_task_group() as group:
        pool.places.start(group)
        await anyio.wait_all_tasks_blocked()
        pool.places.give([claim(job) for job in "abc"])
        await pool.ended(2)
        group.cancel_scope.cancel()
    assert pool.runner.started == ["a", "c"]
    assert {flight.claim.token.job for flight in pool.places.flights} == {"a", "c"}
    assert pool.places.free == 3


async def test_each_attempt_in_a_row_has_its_own_steps_time_limit_and_a_hundredth_of_a_second_more_at_most() -> None:
    app, left = App("points", abi="local/1"), []

    @app.step
    async def look(ctx: Context) -> None:
        left.append((current_effective_deadline() - time.monotonic(), ctx.time_left))

    manifest = app.manifest([step("short", look, time_limit="1m"), step("long", look, time_limit="1h")])
    ended = Event()
    async with worker(app) as made, create_task_group() as group:
        places = Places(made, 4, lambda: ended.set() if len(places.outcomes) == 4 else None)
        places.start(group)
        await anyio.wait_all_tasks_blocked()
        places.give([claim_of(manifest, job=f"j{n}", cursor=cursor) for n, cursor in enumerate((0, 1, 0, 0))])
        await ended.wait()
        group.cancel_scope.cancel()
    for (effective_s, own_s), limit_s in zip(left, (60, 3600, 60, 60), strict=True):
        assert limit_s - 1 < own_s <= limit_s
        assert own_s - 0.001 <= effective_s <= own_s + LATEST_S + 0.01


async def test_a_time_limit_that_was_reached_first_is_what_counts_although_the_pool_stops() -> None:
    app, cancelled, on = App("points", abi="local/1"), Event(), Event()

    @app.step
    async def cleans_up(ctx: Context) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
            with CancelScope(shield=True):
                await on.wait()

    manifest = app.manifest([step("base", cleans_up, time_limit=50)])
    ended = Event()
    async with worker(app) as made, create_task_group() as group:
        places = Places(made, 1, ended.set)
        places.start(group)
        places.give([claim_of(manifest)])
        await cancelled.wait()
        places.cancel_all("the pool stops")
        on.set()
        await ended.wait()
        group.cancel_scope.cancel()
    (flight,) = places.outcomes
    assert flight.outcome is not None
    assert flight.outcome.verb == "fail"
    assert "time limit of 50 ms reached" in flight.outcome.item.reason  # type: ignore[union-attr]


async def failing() -> None:
    raise ValueError("boom")


async def leaves_a_count(ctx: Context) -> None:
    """CPython 3.11 and 3.12 never take back the cancellation by which a failing group wakes its parent."""
    async with asyncio.TaskGroup() as group:
        group.create_task(failing())


async def leaves_a_count_and_waits(ctx: Context) -> None:
    try:
        await leaves_a_count(ctx)
    except* ValueError:
        pass
    await anyio.sleep_forever()


async def cancels_itself(ctx: Context) -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "ok"


async def waits(ctx: Context) -> None:
    await anyio.sleep_forever()


async def counts(ctx: Context) -> int:
    await anyio.lowlevel.checkpoint()
    return 1


def told(outcome: Outcome | None) -> tuple[str, object]:
    """The verb, and the value or the reason."""
    assert outcome is not None
    return outcome.verb, commit(outcome).value if isinstance(outcome.item, Commit) else outcome.item.reason


async def row(*handlers: Any, time_limit: int = 100, on_lapse: str = "retry") -> list[tuple[str, object]]:
    """What attempts at these handlers lead to, one after another in one place."""
    app, ended = App("points", abi="local/1"), Event()
    names = [f"step-{n}" for n, _ in enumerate(handlers)]
    for name, handler in zip(names, handlers, strict=True):
        app.step(name=name)(handler)
    manifest = app.manifest([step(name, name, time_limit=time_limit, on_lapse=on_lapse) for name in names])
    async with worker(app) as made, create_task_group() as group:
        places = Places(made, 1, lambda: ended.set() if len(places.outcomes) == len(handlers) else None)
        places.start(group)
        places.free = len(handlers)  # they wait in line for the one place
        places.give([claim_of(manifest, job=f"j{n}", cursor=n) for n, _ in enumerate(handlers)])
        with fail_after(10):
            await ended.wait()
        group.cancel_scope.cancel()
    assert not made._interrupted
    return [told(flight.outcome) for flight in places.outcomes]


OUT_OF_TIME = ("fail", "time limit of 100 ms reached: the handler was cancelled")


async def test_a_native_group_that_fails_fails_its_own_attempt_and_no_later_time_limit_ends_the_pool() -> None:
    failed, over, counted = await row(leaves_a_count, waits, counts)
    assert failed == ("fail", "ExceptionGroup: unhandled errors in a TaskGroup: ValueError: boom")
    assert (over, counted) == (OUT_OF_TIME, ("commit_step", 1))


async def test_a_time_limit_beside_a_native_cancellation_ends_its_own_attempt_only() -> None:
    assert await row(leaves_a_count_and_waits, counts) == [OUT_OF_TIME, ("commit_step", 1)]


async def test_a_native_cancellation_that_a_handler_leaves_pending_does_not_reach_the_next_attempt() -> None:
    assert await row(cancels_itself, counts) == [("commit_step", "ok"), ("commit_step", 1)]


async def test_a_native_cancellation_of_a_place_that_waits_ends_nothing() -> None:
    tasks: list[asyncio.Task[Any] | None] = []

    async def quick(claim: Claim) -> None:
        tasks.append(asyncio.current_task())

    pool = Pool(quick, 1)
    async with create_task_group() as group:
        pool.places.start(group)
        for count in range(1, 4):
            pool.places.give([claim(f"j{count}")])
            await pool.ended(count)
            await anyio.wait_all_tasks_blocked()
            place = tasks[-1]
            assert place is not None
            place.cancel()
        group.cancel_scope.cancel()
    assert len(set(tasks)) == 1
    assert pool.places.free == 1


async def leaves_a_scope_and_waits(ctx: Context) -> None:
    CancelScope().__enter__()
    await anyio.sleep_forever()


@pytest.mark.parametrize(("on_lapse", "verb"), [("retry", "fail"), ("hold", "quarantine")])
async def test_out_of_time_counts_more_than_a_scope_left_open(on_lapse: str, verb: str) -> None:
    ((found, reason),) = await row(leaves_a_scope_and_waits, on_lapse=on_lapse)
    assert found == verb
    assert "time limit of 100 ms reached" in str(reason)


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize(("on_lapse", "verb"), [("retry", "release"), ("hold", "quarantine")])
async def test_a_stop_counts_more_than_a_scope_left_open(on_lapse: str, verb: str, outside: bool) -> None:
    app, began = App("points", abi="local/1"), Event()

    @app.step
    async def careless(ctx: Context) -> None:
        began.set()
        await leaves_a_scope_and_waits(ctx)

    manifest = app.manifest([step("base", careless, on_lapse=on_lapse)])
    ended = Event()
    async with worker(app) as made, create_task_group() as group:
        places = Places(made, 1, ended.set)
        places.start(group)
        places.give([claim_of(manifest)])
        await began.wait()
        if outside:
            group.cancel_scope.cancel()
        else:
            places.cancel_all("the pool stops")
            await ended.wait()
            group.cancel_scope.cancel()
    (flight,) = places.outcomes
    assert told(flight.outcome)[0] == verb
    assert not made._interrupted


async def test_a_lost_claim_is_forgotten_by_its_worker() -> None:
    app, began, ended = App("points", abi="local/1"), Event(), Event()

    @app.step
    async def lost(ctx: Context) -> None:
        began.set()
        await anyio.sleep_forever()

    manifest = app.manifest([step("base", lost, on_lapse="hold")])
    async with worker(app) as made, create_task_group() as group:
        places = Places(made, 1, ended.set)
        places.start(group)
        places.give([claim_of(manifest)])
        await began.wait()
        (flight,) = places.flights
        places.lose(flight, Verdict.STALE)
        await ended.wait()
        group.cancel_scope.cancel()
    assert (places.outcomes, places.flights, places.free) == ([], set(), 1)
    assert not made._interrupted

"""Plain `def` handlers in threads."""

import threading
from collections.abc import Callable
from typing import Any

import anyio
from anyio import from_thread, to_thread

from runtime.protocol.ports import Outcome
from tests.workers.desk import Desk, attempt, claim, commit, outcome_of, reason, worker
from workers import App, step


class Gate:
    """A handler that waits in its thread until it is let go."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.go = threading.Event()

    def __call__(self, ctx: Any) -> str:
        from_thread.run_sync(self.began.set)
        self.go.wait()
        return "done"


async def test_a_thread_that_is_over_its_time_limit_keeps_its_place_until_it_ends() -> None:
    go, over = threading.Event(), threading.Event()

    def slow(ctx: Any) -> str:
        try:
            from_thread.run(anyio.sleep_forever)
        except BaseException:
            over.set()
        go.wait()
        return "late"

    outcomes: list[Outcome] = []

    async def trying() -> None:
        outcomes.append(await outcome_of(slow, time_limit=250))

    async with anyio.create_task_group() as group:
        group.start_soon(trying)
        assert await to_thread.run_sync(over.wait, 20)
        assert outcomes == []
        go.set()
    assert outcomes[0].verb == "fail"
    assert reason(outcomes[0]) == (
        "time limit of 250 ms reached: the handler could not be cancelled and returned a value later, "
        "which is not committed"
    )


async def test_a_thread_that_is_cancelled_from_outside_ends_first_and_its_value_counts() -> None:
    gate = Gate()
    outcomes: list[Outcome] = []
    let_go = _unless_ended(gate.go, outcomes)
    async with anyio.create_task_group() as group:

        async def trying() -> None:
            await outcome_of(gate, ended=outcomes.append)

        group.start_soon(trying)
        await gate.began.wait()
        group.cancel_scope.cancel()
        let_go()
    assert commit(outcomes[0]).value == "done"


def _unless_ended(go: threading.Event, outcomes: list[Outcome]) -> Callable[[], None]:
    def let_go() -> None:
        assert outcomes == []
        go.set()

    return let_go


async def test_a_claim_is_not_given_up_before_its_thread_has_ended_even_by_a_native_cancellation() -> None:
    gate, app = Gate(), App("points", abi="local/1")
    app.step(name="gate")(gate)
    manifest = app.manifest([("base", "gate")])
    made, ended = worker(app), []

    async def trying() -> None:
        try:
            await attempt(made, claim(manifest))
        finally:
            ended.append(gate.go.is_set())

    import asyncio

    task = asyncio.get_running_loop().create_task(trying())
    await gate.began.wait()
    task.cancel()
    await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()
    assert ended == []
    gate.go.set()
    await asyncio.wait([task])
    assert ended == [True]
    assert made.abandoned(claim(manifest), "stopping").verb == "release"


async def test_reading_in_a_thread_gives_way_to_the_time_limit() -> None:
    class Stuck(Desk):
        async def query(self, sql: str, params: Any = ()) -> Any:
            await anyio.sleep_forever()

    def reads(ctx: Any) -> Any:
        return ctx.query("select 1")

    def reads_late(ctx: Any) -> Any:
        while ctx.time_left:
            from_thread.run_sync(int)
        from_thread.run_sync(int)
        return ctx.query("select 1")

    for handler in (reads, reads_late):
        outcome = await outcome_of(handler, source=Stuck(), time_limit=250)
        assert reason(outcome) == "time limit of 250 ms reached: the handler was cancelled"


async def test_reading_in_a_thread_gives_way_to_a_cancellation_from_outside() -> None:
    reading = anyio.Event()

    class Stuck(Desk):
        async def query(self, sql: str, params: Any = ()) -> Any:
            reading.set()
            await anyio.sleep_forever()

    app = App("points", abi="local/1")

    @app.step
    def reads(ctx: Any) -> Any:
        return ctx.query("select 1")

    manifest = app.manifest([step("base", reads, on_lapse="hold")])
    made = worker(app, Stuck())
    outcomes: list[Outcome] = []
    async with anyio.create_task_group() as group:
        group.start_soon(attempt, made, claim(manifest), outcomes.append)
        await reading.wait()
        group.cancel_scope.cancel()
    assert [outcome.verb for outcome in outcomes] == ["quarantine"]


async def test_as_many_threads_run_at_once_as_the_worker_has_places() -> None:
    app, meet = App("points", abi="local/1"), threading.Barrier(50)

    @app.step
    def together(ctx: Any) -> int:
        return meet.wait(10)

    manifest = app.manifest([("base", together)])
    made, values = worker(app, concurrency=50), []

    async def trying(number: int) -> None:
        values.append(commit(await attempt(made, claim(manifest, job=f"j{number}"))).value)

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(trying, number)
    assert sorted(values) == list(range(50))
    assert to_thread.current_default_thread_limiter().borrowed_tokens == 0


async def test_a_plain_function_that_returns_a_coroutine_is_told_so() -> None:
    async def inner() -> int:
        return 1

    outcome = await outcome_of(lambda ctx: inner())
    assert outcome.verb == "quarantine"
    assert "coroutine" in reason(outcome)
    assert "async def" in reason(outcome)

"""What a handler is given, in async, thread and process handlers."""

from typing import Any

import msgspec
import pytest

from runtime.protocol.records import Write
from tests.workers.desk import Desk, attempt, claim, commit, outcome_of, reason, worker
from workers import App, Context, step


async def test_the_context_tells_job_step_and_parameters() -> None:
    app = App("points", abi="local/1")

    @app.step
    async def tell(ctx: Context, *, per_unit: int) -> Any:
        return [
            ctx.id,
            ctx.job,
            ctx.workflow,
            ctx.flow,
            ctx.seq,
            ctx.step,
            ctx.attempt,
            ctx.generation,
            ctx.payload,
            ctx.parameters,
        ]

    manifest = app.manifest([("base", tell, {"per_unit": 2})])
    outcome = await attempt(worker(app), claim(manifest, {"units": 10}, attempt=2))
    assert commit(outcome).value == ["j1", "j1", "points", "f1", 3, "base", 2, 7, {"units": 10}, {"per_unit": 2}]


async def test_the_payload_comes_as_the_shape_that_is_asked_for_or_fails_the_attempt() -> None:
    class Points(msgspec.Struct):
        units: int

    app = App("points", abi="local/1")

    @app.step
    async def shaped(ctx: Context) -> int:
        return ctx.payload_as(Points).units

    manifest = app.manifest([("base", shaped)])
    assert commit(await attempt(worker(app), claim(manifest, {"units": 10}))).value == 10
    assert "units" in reason(await attempt(worker(app), claim(manifest, {"units": "ten"})))


async def test_the_idempotency_key_is_the_same_in_every_attempt_and_differs_by_step_and_job() -> None:
    app = App("points", abi="local/1")

    @app.step
    async def key(ctx: Context) -> str:
        return ctx.idempotency_key

    manifest = app.manifest([("base", key), ("bonus", key)])
    other = app.manifest([("base", key)], workflow="other")
    made = worker(app)

    async def of(given: Any) -> Any:
        return commit(await attempt(made, given)).value

    first = await of(claim(manifest))
    assert len(first) == 64
    assert await of(claim(manifest, attempt=3)) == first
    assert await of(claim(other)) == first
    assert await of(claim(manifest, cursor=1)) != first
    assert await of(claim(manifest, job="j2")) != first


async def test_effects_are_read_on_first_use_and_once() -> None:
    source = Desk([("base", 10), ("bonus", {"x": [1]})])

    async def total(ctx: Context) -> Any:
        assert source.asked == []
        return [await ctx.effect("base"), await ctx.effect("bonus")]

    assert commit(await outcome_of(total, source=source)).value == [10, {"x": [1]}]
    assert source.asked == ["j1"]


async def test_an_effect_that_is_not_there_fails_and_names_those_that_are() -> None:
    async def total(ctx: Context) -> Any:
        return await ctx.effect("bnus")

    outcome = await outcome_of(total, source=Desk([("base", 10)]))
    assert outcome.verb == "fail"
    assert reason(outcome) == "LookupError: this job has no effect of a step 'bnus'; it has 'base'"


async def test_writes_are_handed_over_with_the_value_in_their_order() -> None:
    async def note(ctx: Context) -> str:
        ctx.execute("insert into t values (?)", [1])
        ctx.execute("insert into t values (:n)", {"n": b"2"})
        return "noted"

    handed = commit(await outcome_of(note))
    assert handed.value == "noted"
    assert list(handed.writes) == [
        Write("insert into t values (?)", (1,)),
        Write("insert into t values (:n)", {"n": b"2"}),
    ]


async def test_a_failed_attempt_hands_over_no_writes() -> None:
    async def note(ctx: Context) -> None:
        ctx.execute("insert into t values (1)")
        raise ValueError("no")

    assert (await outcome_of(note)).verb == "fail"


async def test_a_write_after_the_attempt_is_refused_instead_of_lost() -> None:
    kept: list[Context] = []

    async def keep(ctx: Context) -> None:
        kept.append(ctx)

    await outcome_of(keep)
    with pytest.raises(RuntimeError, match="this attempt is over"):
        kept[0].execute("insert into t values (1)")


@pytest.mark.parametrize("params", ["text", b"bytes", 5])
async def test_parameters_that_are_no_sequence_fail_the_attempt_by_name(params: Any) -> None:
    async def note(ctx: Context) -> None:
        ctx.execute("insert into t values (?)", params)

    assert "parameters are a tuple, a list or a mapping" in reason(await outcome_of(note))


async def test_a_plain_handler_uses_the_same_names_without_await() -> None:
    source = Desk([("base", 10)], rows=[{"n": 4}])

    def total(ctx: Any) -> Any:
        ctx.execute("insert into t values (?)", (ctx.id,))
        return ctx.effect("base") + ctx.query("select ? as n", (4,))[0]["n"] + ctx.payload["units"]

    handed = commit(await outcome_of(total, {"units": 100}, source=source))
    assert handed.value == 114
    assert list(handed.writes) == [Write("insert into t values (?)", ("j1",))]
    assert source.asked == ["j1", ("select ? as n", (4,))]


async def test_time_left_counts_from_the_steps_time_limit_and_is_endless_on_a_logical_clock() -> None:
    app = App("points", abi="local/1")
    left: list[float] = []

    @app.step
    async def look(ctx: Context) -> None:
        left.append(ctx.time_left)

    manifest = app.manifest([step("base", look, time_limit="60s")])
    await attempt(worker(app), claim(manifest))
    await attempt(worker(app, clock="logical"), claim(manifest))
    assert 50 < left[0] <= 60
    assert left[1] == float("inf")


async def test_a_handler_that_changes_its_parameters_changes_them_for_itself_alone() -> None:
    app = App("points", abi="local/1")

    @app.step
    async def spoil(ctx: Context, *, names: list[str], n: int) -> int:
        names.append("x")
        ctx.parameters["n"] = 9
        return len(names) + n

    manifest = app.manifest([("base", spoil, {"names": ["a"], "n": 1})])
    made = worker(app)
    assert [commit(await attempt(made, claim(manifest))).value for _ in range(2)] == [3, 3]

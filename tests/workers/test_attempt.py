"""However a handler ends, its own job alone has a defined outcome."""

import logging
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from runtime.protocol.records import Callback
from tests.workers.desk import attempt, claim, commit, outcome_of, reason, worker
from workers import App, Context, OutcomeUnknown, Quarantine, Retry, step


def raising(error: BaseException | type[BaseException]) -> Any:
    async def handler(ctx: Context) -> None:
        raise error

    return handler


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit("not even here")


async def test_a_value_is_committed_with_the_claims_token_and_the_workers_manifests() -> None:
    app = App("points", abi="local/1")

    @app.step
    async def credit(ctx: Context) -> int:
        return 11

    manifest = app.manifest([("base", credit)])
    made = worker(app)
    given = claim(manifest)
    handed = commit(await attempt(made, given))
    assert (handed.token, handed.value, handed.worker, list(handed.writes)) == (given.token, 11, made.worker, [])
    assert handed.worker.manifests == {manifest.digest: manifest}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("bad amount"), "ValueError: bad amount"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (Unprintable("x"), "Unprintable (its message cannot be printed)"),
        (ExceptionGroup("two", [ValueError("a"), TypeError("b")]), "ExceptionGroup: two: ValueError: a; TypeError: b"),
        (
            BaseExceptionGroup("all", [SystemExit(1), KeyboardInterrupt()]),
            "BaseExceptionGroup: all: SystemExit: 1; KeyboardInterrupt",
        ),
    ],
    ids=lambda given: type(given).__name__,
)
@pytest.mark.parametrize("where", ["loop", "thread"])
async def test_whatever_a_handler_raises_fails_its_attempt(error: BaseException, said: str, where: str) -> None:
    def plain(ctx: Any) -> None:
        raise error

    outcome = await outcome_of(raising(error) if where == "loop" else plain)
    assert outcome.verb == "fail"
    assert reason(outcome) == said


async def test_a_stop_iteration_fails_its_attempt_in_a_thread() -> None:
    def plain(ctx: Any) -> None:
        raise StopIteration(5)

    assert reason(await outcome_of(plain)) == "StopIteration: 5"


async def test_a_megabyte_of_message_is_cut_at_8_kib_and_marked() -> None:
    outcome = await outcome_of(raising(ValueError("é" * 1_000_000)))
    assert len(reason(outcome).encode()) <= 8192
    assert reason(outcome).endswith("bytes in all]")


async def test_a_lone_surrogate_in_a_message_is_replaced() -> None:
    assert reason(await outcome_of(raising(ValueError("a\ud800b")))) == "ValueError: a?b"


async def test_retry_sets_the_wait_and_uses_an_attempt() -> None:
    outcome = await outcome_of(raising(Retry(after="30s", reason="rate limited")))
    assert outcome.verb == "fail"
    assert isinstance(outcome.item, Callback)
    assert (outcome.item.after, outcome.item.reason) == (30_000, "retry: rate limited")


@pytest.mark.parametrize("after", ["31d", -1, "soon", True])
async def test_a_wait_that_is_not_allowed_fails_the_attempt_by_name(after: Any) -> None:
    async def handler(ctx: Context) -> None:
        raise Retry(after=after)

    outcome = await outcome_of(handler)
    assert outcome.verb == "fail"
    assert "Retry.after" in reason(outcome)


async def test_quarantine_gives_up_at_once_with_its_reason() -> None:
    outcome = await outcome_of(raising(Quarantine("the account is closed")))
    assert (outcome.verb, reason(outcome)) == ("quarantine", "the account is closed")


async def test_a_blank_reason_is_replaced_by_words() -> None:
    assert reason(await outcome_of(raising(Quarantine("  ")))) == "the handler gave no reason"


async def test_an_unknown_outcome_is_quarantined_and_says_so() -> None:
    outcome = await outcome_of(raising(OutcomeUnknown("no reply")))
    assert (outcome.verb, reason(outcome)) == ("quarantine", "outcome unknown: no reply")


async def test_in_a_group_the_gravest_word_counts() -> None:
    both = ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [OutcomeUnknown("b"), Quarantine("c")])])
    assert reason(await outcome_of(raising(both))) == "outcome unknown: b"
    retries = await outcome_of(raising(ExceptionGroup("g", [Retry("1s"), Retry("5s", "busy")])))
    assert isinstance(retries.item, Callback)
    assert (retries.item.after, retries.item.reason) == (5_000, "retry: busy")
    mixed = await outcome_of(raising(ExceptionGroup("g", [Retry("1s"), ValueError("a")])))
    assert isinstance(mixed.item, Callback)
    assert mixed.item.after is None


@pytest.mark.parametrize("value", [{1: 2}, float("inf"), object(), {"a": [1, {2}]}, "\ud800", 2**53, b"x"])
async def test_a_value_that_is_not_json_is_quarantined_before_the_store_is_asked(value: Any) -> None:
    async def handler(ctx: Context) -> Any:
        return value

    outcome = await outcome_of(handler)
    assert outcome.verb == "quarantine"
    assert reason(outcome).startswith("the handler's value cannot be stored: value")


async def test_a_value_over_one_mebibyte_is_quarantined() -> None:
    async def handler(ctx: Context) -> str:
        return "x" * (1024 * 1024)

    assert "at most 1048576 are stored" in reason(await outcome_of(handler))


async def test_a_time_limit_fails_the_attempt_under_retry_and_names_the_limit() -> None:
    outcome = await outcome_of(lambda_forever, time_limit=100)
    assert (outcome.verb, reason(outcome)) == ("fail", "time limit of 100 ms reached: the handler was cancelled")


async def test_a_time_limit_that_is_over_before_the_handler_began_fails_under_hold_too() -> None:
    called: list[int] = []

    async def note(ctx: Context) -> None:
        called.append(1)

    app = App("points", abi="local/1")
    app.step(name="note")(note)
    manifest = app.manifest([step("base", "note", time_limit=1, on_lapse="hold")])
    made = worker(app)
    made._rooms.clock = lambda: 0.0
    outcome = await attempt(made, claim(manifest))
    assert (outcome.verb, reason(outcome)) == ("fail", "time limit of 1 ms reached before the handler began")
    assert called == []


async def test_a_time_limit_quarantines_under_hold() -> None:
    outcome = await outcome_of(lambda_forever, time_limit=100, on_lapse="hold")
    assert outcome.verb == "quarantine"
    assert reason(outcome) == "outcome unknown: time limit of 100 ms reached: the handler was cancelled"


async def lambda_forever(ctx: Context) -> None:
    await anyio.sleep_forever()


async def test_what_a_handler_returns_after_it_swallowed_its_time_limit_is_not_committed() -> None:
    async def stubborn(ctx: Context) -> str:
        try:
            await anyio.sleep_forever()
        except BaseException:
            return "late"
        return "never"

    assert "time limit of 100 ms reached" in reason(await outcome_of(stubborn, time_limit=100))


async def test_what_a_handler_raises_after_its_time_limit_does_not_hide_the_limit() -> None:
    async def clumsy(ctx: Context) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("while cleaning up")

    assert "time limit of 100 ms reached" in reason(await outcome_of(clumsy, time_limit=100))


async def test_a_cancellation_of_the_handlers_own_making_is_a_failure() -> None:
    async def odd(ctx: Context) -> None:
        raise anyio.get_cancelled_exc_class()("mine")

    assert (await outcome_of(odd)).verb == "fail"


async def test_a_scope_that_a_handler_leaves_open_is_its_own_jobs_failure() -> None:
    async def careless(ctx: Context) -> None:
        anyio.CancelScope().__enter__()

    async def ticks() -> AsyncGenerator[int, None]:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            yield 1

    kept = []

    async def breaking_off(ctx: Context) -> int:
        kept.append(ticks())
        return await anext(kept[0])

    for handler in (careless, breaking_off):
        with anyio.CancelScope() as outside:
            outcome = await outcome_of(handler)
        assert outcome.verb == "fail"
        assert "left a cancel scope or a task group open" in reason(outcome)
        assert not outside.cancelled_caught
    with pytest.raises(RuntimeError, match="not active"):
        await kept[0].aclose()


async def test_the_log_names_job_flow_step_generation_and_handler(caplog: pytest.LogCaptureFixture) -> None:
    app = App("points", abi="local/1")
    app.step(name="boom")(raising(ValueError("bad amount")))
    manifest = app.manifest([step("base", "boom")])
    with caplog.at_level(logging.INFO, logger="keepstep.worker"):
        await attempt(worker(app), claim(manifest))
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "fail: job j1, flow f1, step base, generation 7, handler boom: ValueError: bad amount\nTraceback"
    )
    assert {name: getattr(record, name) for name in ("job", "flow", "step", "generation", "handler")} == {
        "job": "j1",
        "flow": "f1",
        "step": "base",
        "generation": 7,
        "handler": "boom",
    }


@pytest.mark.parametrize(
    ("error", "level"), [(ValueError("bad"), "WARNING"), (Quarantine("no"), "ERROR"), (Retry("1s", "not yet"), "INFO")]
)
async def test_a_wished_wait_is_no_warning(error: Exception, level: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="keepstep.worker"):
        await outcome_of(raising(error))
    assert [record.levelname for record in caplog.records] == [level]

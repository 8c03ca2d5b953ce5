"""A worker: what it declares, what becomes of claims that are given up, and of outcomes that the store refuses."""

import logging
from typing import Any

import anyio
import pytest

from runtime.protocol.errors import InvalidValue, ItemError, RegistryDamaged, Undeclared, WriteFailed
from runtime.protocol.ports import Outcome, Runner
from tests.workers.desk import attempt, claim, commit, reason, worker
from workers import App, Context, step
from workers.worker import Worker


def app_of(handler: Any, **policy: Any) -> App:
    app = App("points", abi="local/1")
    app.step(name="handler")(handler)
    app.manifest([step("base", "handler", **policy)])
    return app


async def one(ctx: Context) -> int:
    return 1


async def settled(made: Worker, error: ItemError) -> Outcome | None:
    given = claim(made.app.manifests[0])
    return made.after(given, await attempt(made, given), error)


def test_a_worker_is_a_runner_and_its_id_is_random_by_default() -> None:
    made: Runner = worker(app_of(one))
    assert made.worker.id == "w1"
    first, second = (Worker(app_of(one), object(), store_id="s") for _ in range(2))  # type: ignore[arg-type]
    assert first.worker.id != second.worker.id


async def test_a_claim_of_an_undeclared_definition_fails_alone_and_says_why() -> None:
    made = worker(app_of(one))
    foreign = App("points", abi="other/1")
    foreign.step(name="handler")(one)
    outcome = await attempt(made, claim(foreign.manifest([("base", one)])))
    assert outcome.verb == "fail"
    assert "is not declared here" in reason(outcome)
    beyond = await attempt(made, claim(made.app.manifests[0], cursor=4))
    assert "has no step 4 here" in reason(beyond)
    assert commit(await attempt(made, claim(made.app.manifests[0]))).value == 1


async def test_a_claim_whose_handler_has_not_begun_is_released_under_hold_too() -> None:
    made = worker(app_of(one, on_lapse="hold"))
    outcome = made.abandoned(claim(made.app.manifests[0]), "the pool stops")
    assert (outcome.verb, reason(outcome)) == ("release", "the pool stops")


async def test_a_cancellation_before_the_handler_begins_leaves_it_unbegun() -> None:
    called: list[int] = []

    async def note(ctx: Context) -> None:
        called.append(1)

    made = worker(app_of(note, on_lapse="hold"))
    given = claim(made.app.manifests[0])
    outcomes: list[Outcome] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await attempt(made, given, outcomes.append)
    assert scope.cancelled_caught
    assert called == []
    assert [outcome.verb for outcome in outcomes] == ["release"]


@pytest.mark.parametrize(("on_lapse", "verb"), [("retry", "release"), ("hold", "quarantine")])
@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_handler_cancelled_midway_is_released_under_retry_and_quarantined_under_hold(
    on_lapse: str, verb: str, stubborn: bool
) -> None:
    began = anyio.Event()

    async def waits(ctx: Context) -> str:
        began.set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            if not stubborn:
                raise
        return "swallowed"

    made = worker(app_of(waits, on_lapse=on_lapse))
    outcomes: list[Outcome] = []
    async with anyio.create_task_group() as group:
        group.start_soon(attempt, made, claim(made.app.manifests[0]), outcomes.append)
        await began.wait()
        group.cancel_scope.cancel()
    (outcome,) = outcomes
    assert outcome.verb == verb
    assert reason(outcome).endswith("the pool was cancelled")


@pytest.mark.parametrize(("on_lapse", "verb"), [("retry", "release"), ("hold", "quarantine")])
@pytest.mark.parametrize("error", [RegistryDamaged, Undeclared])
async def test_a_damaged_definition_is_given_back_no_longer_declared_and_said_loudly(
    on_lapse: str, verb: str, error: type[ItemError], caplog: pytest.LogCaptureFixture
) -> None:
    app = app_of(one, on_lapse=on_lapse)
    sound = app.manifest([("base", "handler")], workflow="other")
    made, damaged = worker(app), app.manifests[0]
    fault = RegistryDamaged(damaged.digest) if error is RegistryDamaged else Undeclared("w1", damaged.digest)
    with caplog.at_level(logging.CRITICAL, logger="keepstep.worker"):
        followed = await settled(made, fault)
        await settled(made, fault)
    assert followed is not None
    assert (followed.verb, reason(followed)) == (verb, str(fault))
    assert list(made.worker.manifests) == [sound.digest]
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]
    assert damaged.digest in caplog.text


async def test_claims_of_a_definition_that_was_dropped_meanwhile_are_released_without_running() -> None:
    called: list[int] = []

    async def note(ctx: Context) -> None:
        called.append(1)

    made = worker(app_of(note, on_lapse="hold"))
    given = claim(made.app.manifests[0])
    made.after(given, await attempt(made, given), RegistryDamaged(given.token.digest))
    assert (await attempt(made, claim(made.app.manifests[0], job="j2"))).verb == "release"
    assert called == [1]


async def test_a_value_that_the_store_refuses_quarantines_the_job() -> None:
    followed = await settled(worker(app_of(one)), InvalidValue("value", "too large"))
    assert followed is not None
    assert (followed.verb, reason(followed)) == ("quarantine", "the handler's value cannot be stored: value: too large")


async def test_a_write_that_failed_fails_the_attempt_and_releases_nothing() -> None:
    followed = await settled(worker(app_of(one)), WriteFailed("UNIQUE constraint failed: t.id"))
    assert followed is not None
    assert (followed.verb, reason(followed)) == ("fail", "UNIQUE constraint failed: t.id")


async def test_an_answer_to_the_last_word_is_logged_and_not_followed(caplog: pytest.LogCaptureFixture) -> None:
    made = worker(app_of(one))
    given = claim(made.app.manifests[0])
    released = made.abandoned(given, "the pool stops")
    assert made.after(given, released, InvalidValue("reason", "blank")) is None
    assert made.after(given, released, RegistryDamaged(given.token.digest)) is None
    assert "release was refused: reason: blank" in caplog.text

"""The barrier: a pool's coroutine that pauses a drain which asked for it, and an operator's drain and wait."""

from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest
from anyio import create_task_group, fail_after

from control.barrier import Barrier, Drained, Progress, drain
from runtime.protocol.errors import StoreBusy
from runtime.protocol.records import Admission, Answer
from runtime.protocol.verdicts import Mode, Verdict
from runtime.store.store import Store
from tests.control.conftest import W1

pytestmark = pytest.mark.anyio


async def admit(store: Store, job: str) -> None:
    answer = (await store.admit_many([Admission("points", job, {})]))[0]
    assert isinstance(answer, Answer)
    assert answer.verdict is Verdict.ACCEPTED


async def finish(store: Store) -> None:
    while claims := (await store.claim(10, W1)).claims:
        for claim in claims:
            await store.commit_step(claim.token, 1, worker=W1)


async def until_mode(store: Store, mode: Mode) -> None:
    with fail_after(10):
        while (await store.control()).mode != mode:
            await anyio.lowlevel.checkpoint()


async def test_a_drain_that_asked_for_it_is_paused_when_nothing_is_unfinished(store: Store) -> None:
    await admit(store, "a")
    barrier = Barrier(store)
    async with create_task_group() as group:
        group.start_soon(barrier.run)
        await store.transition("drain", 0, pause_when_empty=True)
        barrier.look()
        await finish(store)
        barrier.look()
        await until_mode(store, Mode.PAUSED)
        group.cancel_scope.cancel()
    (act, *_) = await store.audit()
    assert (act.verb, act.actor) == ("pause", "pool")


async def test_a_last_look_that_fails_is_said_and_ends_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise StoreBusy("locked")

    await store.transition("drain", 0, pause_when_empty=True)
    with monkeypatch.context() as planted:
        planted.setattr(store, "transition", fails)
        await Barrier(store).end()
    assert "the barrier was not looked at once more: locked" in caplog.text
    await Barrier(store).end()
    assert (await store.control()).mode == Mode.PAUSED


async def test_a_drain_that_did_not_ask_for_it_is_left_alone(store: Store) -> None:
    await store.transition("drain", 0)
    await Barrier(store)._look()
    assert (await store.control()).mode == Mode.DRAINING


async def test_a_wish_of_an_earlier_drain_does_not_count(store: Store) -> None:
    await store.transition("drain", 0, pause_when_empty=True)
    await store.transition("resume", 1)
    await store.transition("drain", 2)
    await Barrier(store)._look()
    assert (await store.control()).mode == Mode.DRAINING


async def test_while_the_store_is_open_it_asks_only_when_told_to_look(store: Store) -> None:
    asked = 0
    control = store.control

    class Counting:
        transition = store.transition

        async def control(self) -> object:
            nonlocal asked
            asked += 1
            return await control()

    barrier = Barrier(Counting())  # type: ignore[arg-type]
    async with create_task_group() as group:
        group.start_soon(barrier.run)
        await until(lambda: asked == 1)
        await anyio.wait_all_tasks_blocked()
        assert asked == 1
        barrier.look()
        await until(lambda: asked == 2)
        group.cancel_scope.cancel()


async def until(met: Callable[[], bool]) -> None:
    with fail_after(10):
        while not met():
            await anyio.lowlevel.checkpoint()


async def test_draining_an_idle_store_pauses_at_once_without_a_pool(store: Store) -> None:
    drained = await drain(store)
    assert (drained.code, drained.answer.mode, drained.answer.version) == (0, Mode.PAUSED, 2)


async def test_without_pause_an_idle_store_is_left_draining(store: Store) -> None:
    drained = await drain(store, pause=False)
    assert (drained.code, drained.answer.mode) == (0, Mode.DRAINING)


async def test_without_waiting_it_answers_draining(store: Store) -> None:
    await admit(store, "a")
    drained = await drain(store)
    assert (drained.code, drained.answer.verdict) == (0, Verdict.DRAINING)
    assert (await store.snapshot()).pause_when_empty


async def waited(store: Store, meanwhile: Callable[[], object], **options: float) -> Drained:
    """A drain that is waited for, with something happening once it is seen to wait."""
    found: list[Drained] = []
    seen = anyio.Event()

    async def wait() -> None:
        found.append(await drain(store, wait=True, on_progress=lambda _: seen.set(), **options))  # type: ignore[arg-type]

    async with create_task_group() as group:
        group.start_soon(wait)
        with fail_after(10):
            await seen.wait()
            await meanwhile()  # type: ignore[misc]
    return found[0]


async def test_waiting_sends_the_pause_itself_when_nothing_is_unfinished(store: Store) -> None:
    await admit(store, "a")
    drained = await waited(store, lambda: finish(store))
    assert (drained.code, drained.answer.mode, drained.answer.version) == (0, Mode.PAUSED, 2)


async def test_somebody_who_resumes_meanwhile_ends_the_waiting_with_4(store: Store) -> None:
    await admit(store, "a")
    drained = await waited(store, lambda: store.transition("resume", 1))
    assert drained.code == 4
    assert "resumed meanwhile" in drained.text


async def test_the_deadline_ends_the_waiting_with_3_still_draining(store: Store) -> None:
    await admit(store, "a")
    drained = await drain(store, wait=True, deadline_s=0.0)
    assert drained.code == 3
    assert "1 unfinished" in drained.text
    assert (await store.control()).mode == Mode.DRAINING


async def test_waiting_joins_a_drain_already_under_way_and_ends_0_if_already_paused(store: Store) -> None:
    await admit(store, "a")
    await store.transition("drain", 0)
    joined = await waited(store, lambda: finish(store))
    assert (joined.code, joined.answer.version) == (0, 2)
    again = await drain(store, wait=True)
    assert again.code == 0
    assert "already paused" in again.text


async def test_a_late_version_is_stale_and_a_second_drain_is_refused(store: Store) -> None:
    await admit(store, "a")
    await drain(store)
    assert (await drain(store, expected_version=0)).code == 4
    assert (await drain(store)).code == 5


async def test_progress_tells_what_remains(store: Store) -> None:
    await admit(store, "a")
    told: list[Progress] = []
    await drain(store, wait=True, deadline_s=0.0, on_progress=told.append)
    assert [(progress.version, progress.remaining) for progress in told] == [(1, 1)]

"""The scheduler: claims for free places and no more, outcomes and the next claim in one turn, faults, stops."""

import logging

import anyio
import anyio.lowlevel
import pytest
from anyio import Event, create_task_group, fail_after

from runtime import faults
from runtime.protocol.errors import CommitUnknown, InvalidValue, StoreError, StoreFull
from runtime.protocol.ports import Outcome
from runtime.protocol.records import Answer, Callback, Claim
from runtime.protocol.verdicts import Mode, Verdict
from runtime.scheduler import Scheduler
from tests.runtime.stand_ins import WORKER, Desk, Runner
from tests.runtime.stand_ins import claim as stand_in_claim

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "PAUSE_S", 0.0)


async def quick(claim: Claim) -> int:
    return 1


class Gate:
    """A handler that waits until it is let through; `entered` is set when the first one waits."""

    def __init__(self) -> None:
        self.open = Event()
        self.entered = Event()
        self.cancelled: list[str] = []

    async def __call__(self, claim: Claim) -> int:
        self.entered.set()
        try:
            await self.open.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(claim.token.job)
            raise
        return 1


async def test_every_job_is_run_once_and_committed() -> None:
    jobs = [f"j{number}" for number in range(100)]
    desk, runner = Desk(*jobs), Runner(quick)
    with fail_after(10):
        await Scheduler(desk, runner, concurrency=8, until_idle=True).run()
    assert sorted(desk.done()) == sorted(jobs)
    assert sorted(runner.started) == sorted(jobs)


async def test_never_more_claims_than_free_places() -> None:
    desk, runner = Desk(*(f"j{number}" for number in range(50))), Runner(quick)
    await Scheduler(desk, runner, concurrency=5, until_idle=True).run()
    assert max(desk.limits) == 5
    assert runner.most <= 5


async def test_nothing_is_claimed_while_every_place_is_taken() -> None:
    desk, gate = Desk("a", "b", "c"), Gate()
    scheduler = Scheduler(desk, Runner(gate), concurrency=2, until_idle=True)
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await gate.entered.wait()
        desk.admit("d")
        await anyio.wait_all_tasks_blocked()
        assert list(desk.queued) == ["c", "d"]
        gate.open.set()
    assert sorted(desk.done()) == ["a", "b", "c", "d"]


async def test_outcomes_that_are_ready_together_go_in_one_settle_with_the_next_claim() -> None:
    desk = Desk(*(f"j{number}" for number in range(32)))
    await Scheduler(desk, Runner(quick), concurrency=16, until_idle=True).run()
    assert [len(turn.get("commits", ())) for turn in desk.settled] == [0, 16, 16]
    assert desk.limits == [16, 16, 16]


async def test_a_commit_of_this_process_wakes_it_and_its_own_settles_do_not_make_it_look() -> None:
    desk, runner = Desk(), Runner(quick)
    scheduler = Scheduler(desk, runner, concurrency=4, poll_ms=1000)
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await anyio.wait_all_tasks_blocked()
        with fail_after(5):
            desk.admit("a")
            while desk.done() != ["a"]:
                await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        looks = desk.looks
        await anyio.wait_all_tasks_blocked()
        assert desk.looks == looks <= 2
        scheduler.stop_claiming()


async def test_another_process_is_heard_by_the_moved_file() -> None:
    desk, gate = Desk(), Gate()
    gate.open.set()
    scheduler = Scheduler(desk, Runner(gate), concurrency=4, poll_ms=1)
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await anyio.wait_all_tasks_blocked()
        desk.queued.append("a")
        desk.moves = True
        with fail_after(5):
            await gate.entered.wait()
        scheduler.stop_claiming()
    assert desk.done() == ["a"]


async def test_what_becomes_due_by_the_clock_is_claimed() -> None:
    desk, runner = Desk(), Runner(quick)
    desk.next_due = 50
    now = [0]
    scheduler = Scheduler(desk, runner, poll_ms=1, clock_ms=lambda: now[0])
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await anyio.wait_all_tasks_blocked()
        desk.queued.append("a")
        now[0], desk.next_due = 50, None
        with fail_after(5):
            while not runner.started:
                await anyio.lowlevel.checkpoint()
        scheduler.stop_claiming()


async def test_while_paused_nothing_is_claimed_and_a_resume_is_noticed() -> None:
    desk, runner = Desk("a"), Runner(quick)
    desk.mode = Mode.PAUSED
    scheduler = Scheduler(desk, runner, poll_ms=1)
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await anyio.wait_all_tasks_blocked()
        assert runner.started == []
        desk.mode = Mode.OPEN
        desk.admit()
        with fail_after(5):
            while desk.done() != ["a"]:
                await anyio.lowlevel.checkpoint()
        scheduler.stop_claiming()


async def test_a_full_store_is_said_once_and_what_was_done_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    desk, runner = Desk("a"), Runner(quick)
    desk.faults.extend([None] + [StoreFull("the store is full")] * 30)
    with caplog.at_level(logging.INFO, "keepstep.scheduler"):
        await Scheduler(desk, runner, until_idle=True).run()
    assert desk.done() == ["a"]
    assert runner.started == ["a"]
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]


async def test_ten_faults_of_another_kind_end_it() -> None:
    desk = Desk("a")
    desk.faults.extend([StoreError("disk I/O error")] * 10)
    with pytest.raises(StoreError, match="disk I/O error"):
        await Scheduler(desk, Runner(quick)).run()
    assert not desk.faults


async def test_an_unknown_commit_ends_it_at_once() -> None:
    desk = Desk("a")
    desk.faults.extend([None, *[CommitUnknown("COMMIT failed")] * 3])
    with pytest.raises(CommitUnknown):
        await Scheduler(desk, Runner(quick)).run()
    assert desk.done() == []


async def test_an_error_in_an_outcomes_place_leads_to_what_the_runner_says() -> None:
    desk, runner = Desk("a", "b"), Runner(quick)
    desk.answers["a"] = InvalidValue("value", "is not JSON")
    runner.follow = Outcome("quarantine", Callback(stand_in_claim("a").token, "cannot be stored", WORKER.id))
    await Scheduler(desk, runner, until_idle=True).run()
    assert [item.token.job for turn in desk.settled for item in turn.get("quarantines", ())] == ["a"]
    assert "b" in desk.done()


async def test_a_late_outcome_is_said_and_its_place_is_free(caplog: pytest.LogCaptureFixture) -> None:
    desk, runner = Desk("a", "b"), Runner(quick)
    desk.answers["a"] = Answer(Verdict.STALE)
    await Scheduler(desk, runner, concurrency=1, until_idle=True).run()
    assert runner.started == ["a", "b"]
    (said,) = [record for record in caplog.records if "came too late (stale)" in record.getMessage()]
    assert said.getMessage().startswith("handler 'credit' of job 'a' (points), step 'base', generation 1")
    assert (vars(said)["step"], vars(said)["handler"]) == ("base", "credit")


async def test_told_to_stop_it_claims_no_more_and_lets_steps_finish() -> None:
    desk, gate = Desk("a", "b"), Gate()
    scheduler = Scheduler(desk, Runner(gate), concurrency=1)
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await gate.entered.wait()
        scheduler.stop_claiming()
        gate.open.set()
    assert desk.done() == ["a"]
    assert list(desk.queued) == ["b"]


async def test_once_a_stop_is_asked_for_it_claims_no_more_even_if_nobody_has_told_it_yet() -> None:
    gate, asked = Gate(), Event()
    desk, runner = Desk("a", "b"), Runner(gate)
    scheduler = Scheduler(desk, runner, concurrency=1, stop_asked=asked.is_set)
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await gate.entered.wait()
        asked.set()
        gate.open.set()
        await anyio.wait_all_tasks_blocked()
        assert (desk.done(), runner.started) == (["a"], ["a"])
        scheduler.stop_claiming()


async def test_cancelled_claims_are_handed_back_once_their_handlers_have_ended() -> None:
    desk, gate = Desk("a", "b"), Gate()
    scheduler = Scheduler(desk, Runner(gate), concurrency=2)
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await gate.entered.wait()
        await anyio.wait_all_tasks_blocked()
        scheduler.cancel_all("the pool stops")
    assert sorted(gate.cancelled) == ["a", "b"]
    released = [item for turn in desk.settled for item in turn.get("releases", ())]
    assert sorted(item.token.job for item in released) == ["a", "b"]
    assert {item.reason for item in released} == {"the pool stops"}


async def test_claims_that_arrive_after_a_cancellation_are_handed_back_unbegun() -> None:
    desk, runner = Desk("a"), Runner(quick)
    scheduler = Scheduler(desk, runner)

    async def stop() -> None:
        desk.on_settle = None
        scheduler.cancel_all("the pool stops")

    desk.on_settle = stop
    with fail_after(5):
        await scheduler.run()
    assert runner.started == []
    assert [item.token.job for turn in desk.settled for item in turn.get("releases", ())] == ["a"]


async def test_cancelled_from_outside_it_hands_back_what_it_had() -> None:
    desk, gate = Desk("a"), Gate()
    async with create_task_group() as group:
        group.start_soon(Scheduler(desk, Runner(gate)).run)
        await gate.entered.wait()
        group.cancel_scope.cancel()
    assert [item.token.job for turn in desk.settled for item in turn.get("releases", ())] == ["a"]


async def test_a_lost_claim_is_cancelled_and_its_place_serves_the_next() -> None:
    desk, gate = Desk("a", "b"), Gate()
    scheduler = Scheduler(desk, Runner(gate), concurrency=1, until_idle=True)
    async with create_task_group() as group:
        group.start_soon(scheduler.run)
        await gate.entered.wait()
        (flight,) = scheduler.places.flights
        scheduler.places.lose(flight, Verdict.STALE)
        gate.open.set()
    assert gate.cancelled == ["a"]
    assert desk.done() == ["b"]
    assert not scheduler.places.flights


async def test_a_renewal_that_is_refused_after_the_commit_is_no_alarm(caplog: pytest.LogCaptureFixture) -> None:
    desk, gate = Desk("a"), Gate()
    gate.open.set()
    scheduler = Scheduler(desk, Runner(gate), until_idle=True)
    flights = set()

    async def note() -> None:
        flights.update(scheduler.places.flights)

    desk.on_settle = note
    await scheduler.run()
    for flight in flights:
        scheduler.places.lose(flight, Verdict.STALE)
    assert len(flights) == 1
    assert gate.cancelled == []
    assert caplog.records == []


async def test_told_to_give_up_it_ends_although_an_outcome_cannot_be_written(caplog: pytest.LogCaptureFixture) -> None:
    desk, tried = Desk("a"), Event()
    desk.faults.extend([None] + [StoreFull("the store is full")] * 1000)
    scheduler = Scheduler(desk, Runner(quick))

    async def note() -> None:
        if len(desk.faults) < 990:
            tried.set()

    desk.on_settle = note
    with fail_after(10):
        async with create_task_group() as group:
            group.start_soon(scheduler.run)
            await tried.wait()
            scheduler.stop_claiming()
            scheduler.give_up()
    assert desk.done() == []
    assert "the outcomes of 1 attempts could not be written" in caplog.text


@pytest.mark.parametrize("limit", [1, 5])
async def test_max_jobs_ends_exactly_so_many_and_claims_none_too_many(limit: int) -> None:
    desk, runner = Desk(*"abcdef"), Runner(quick)
    await Scheduler(desk, runner, concurrency=3, max_jobs=limit).run()
    assert len(desk.done()) == len(runner.started) == limit
    assert len(desk.queued) == 6 - limit


async def test_a_runner_that_raises_fails_its_own_attempt_only() -> None:
    async def defective(claim: Claim) -> int:
        if claim.token.job == "a":
            raise LookupError("no such room")
        return 1

    desk = Desk("a", "b")
    await Scheduler(desk, Runner(defective), until_idle=True).run()
    (failure,) = [item for turn in desk.settled for item in turn.get("failures", ())]
    assert failure.token.job == "a"
    assert "LookupError: no such room" in failure.reason
    assert desk.done() == ["b"]

"""snapshot: one read transaction's photograph (contract §11)."""

import sqlite3
from contextlib import closing

import pytest

from control.explain import why_drain
from demos.scenarios import points
from demos.scenarios.drain import W1, admit, ready
from demos.scenarios.relay import W1 as RELAYING
from demos.scenarios.world import RELAY, World
from runtime.protocol.errors import InvalidValue
from runtime.store.explain import coverage, explain


async def test_a_snapshot_says_when_it_was_taken_and_counts_jobs_by_state(here: World) -> None:
    await here.define(RELAY)
    for flow in "abcde":
        await here.event(f"{flow}1")
    await here.work(RELAYING, 1)
    await here.take(RELAYING, 3)
    await here.store.quarantine((await here.take(RELAYING, 3)).token, "unsure")
    await here.fail(await here.take(RELAYING, 3))
    photo = await here.store.snapshot()
    assert photo.taken_at == 3
    assert photo.jobs == {"ready": 1, "waiting": 1, "inflight": 1, "quarantined": 1, "done": 1}
    assert photo.unfinished_by_definition == {RELAY.digest: 4}
    assert (photo.effects, photo.ticket, photo.routes[0].revision) == (1, 4, 1)
    assert {flow.name for flow in photo.flows} == set("abcde")


async def test_v14_coverage_names_a_definition_that_nobody_live_declares(here: World) -> None:
    await points.define(here)
    await points.admit(here, "old")
    await here.store.announce(points.ONLY_V2, host="here", pid=1, started_at_ms=0)
    found = {row.digest: row for row in await coverage(here.store)}
    assert (found[points.D1].unfinished, found[points.D1].workers, found[points.D1].stranded) == (1, (), True)
    assert (found[points.D2].unfinished, found[points.D2].workers, found[points.D2].stranded) == (0, ("new",), False)
    await here.store.announce(points.ONLY_V1, host="here", pid=2, started_at_ms=0)
    assert not any(row.stranded for row in await coverage(here.store))
    await here.store.withdraw("old")
    assert any(row.stranded for row in await coverage(here.store))


@pytest.mark.parametrize(("passed_ms", "live"), [(1_000, True), (4_000, False), (-3_600_000, False)])
async def test_a_worker_is_gone_three_seconds_after_its_last_beat_also_when_the_clock_has_gone_back(
    here: World, passed_ms: int, live: bool
) -> None:
    await points.define(here)
    await points.admit(here, "old")
    await here.store.announce(points.ONLY_V1, host="here", pid=1, started_at_ms=0)
    with closing(sqlite3.connect(here.queue)) as raw, raw:
        raw.execute("update keepstep_presence set seen_at_ms = seen_at_ms - ?", (passed_ms,))
    (worker,) = await here.store.workers()
    assert worker.live is live
    assert any(row.stranded for row in await coverage(here.store)) is not live
    (blocker,) = (await explain(here.store)).blockers
    assert blocker.cause == ("ready" if live else "undeclared")


async def test_d07_the_explanation_names_the_held_job_its_worker_and_since_when(here: World) -> None:
    await ready(here)
    await admit(here, "a")
    await here.take(W1, 7)
    await here.store.transition("drain", 0)
    await here.store.transition("pause", 1, now=1_000_000)
    why = await why_drain(here.store)
    (waiting,) = why.jobs
    assert (waiting.job.job, waiting.job.worker, waiting.job.since, waiting.job.cause) == ("a", "w1", 7, "held")
    assert "w1" in waiting.text
    assert why.unfinished == 1


async def test_jobs_of_a_state_that_is_none_are_refused_by_name(here: World) -> None:
    with pytest.raises(InvalidValue, match="quarantined"):
        await here.store.jobs(state="resting")

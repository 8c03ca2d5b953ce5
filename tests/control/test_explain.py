"""Why is it waiting: each cause by name, and counts that add up."""

import pytest

from control.explain import why_definition, why_drain, why_flow, why_job
from runtime.protocol.errors import InvalidValue
from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.control.conftest import V1, V2, W1, W2, live


async def cause(store: Store, job: str) -> str:
    """The one cause of a job."""
    why = await why_job(store, job)
    assert why is not None
    return why.jobs[0].job.cause


async def test_a_ready_job_that_no_live_worker_declares_says_so(store: Store) -> None:
    await store.admit("points", "a", 1)
    why = await why_job(store, "a")
    assert why is not None
    assert f"no live worker declares {V1.digest[:12]}" in why.summary
    assert why.next is not None
    assert "start a worker" in why.next


async def test_a_ready_job_whose_worker_lives_waits_for_its_turn(store: Store) -> None:
    await store.admit("points", "a", 1)
    await live(store, W1)
    assert await cause(store, "a") == "ready"


async def test_a_job_in_flight_names_worker_since_and_until(store: Store) -> None:
    await store.admit("points", "a", 1)
    await store.claim(1, W1, now=7)
    why = await why_job(store, "a")
    assert why is not None
    assert "step base leased by W1 at tick 7 until tick 12" in why.summary
    assert "that worker is gone" in why.summary


async def test_a_lapsed_lease_under_retry_waits_for_the_sweep(store: Store) -> None:
    await store.admit("points", "a", 1)
    await store.admit("points", "b", 1)
    await store.claim(1, W1, now=1)
    await store.set("capacity", None, "moves the clock", now=20)
    assert await cause(store, "a") == "lapsed"


async def test_a_lapsed_lease_under_hold_waits_for_a_person(store: Store) -> None:
    await store.switch(V2.digest, 1)
    await store.admit("points", "a", 1)
    await store.claim(1, W2, now=1)
    await store.set("capacity", None, "moves the clock", now=20)
    why = await why_job(store, "a")
    assert why is not None
    assert why.jobs[0].job.cause == "held"
    assert "held past its lease" in why.summary
    assert why.next is not None
    assert "recover a" in why.next


async def test_a_failed_job_says_until_when_after_which_attempt_and_why(store: Store) -> None:
    await store.admit("points", "a", 1)
    claims = await store.claim(1, W1, now=1)
    await store.fail(claims.claims[0].token, "bank is closed", now=2)
    why = await why_job(store, "a")
    assert why is not None
    assert "backing off since tick 2 until tick 4" in why.summary
    assert "after attempt 1 of 3" in why.summary
    assert "because: bank is closed" in why.summary


async def test_a_backoff_that_is_over_waits_for_a_sweep(store: Store) -> None:
    await store.admit("points", "a", 1)
    claims = await store.claim(1, W1, now=1)
    await store.fail(claims.claims[0].token, "bank is closed", now=2)
    await store.set("capacity", None, "moves the clock", now=20)
    assert await cause(store, "a") == "due"


async def test_a_quarantined_head_blocks_and_the_chain_leads_to_it(store: Store) -> None:
    await store.admit("points", "a", 1, flow="F")
    await store.admit("points", "b", 1, flow="F")
    await store.quarantine_job("a", 0, "customer called", now=3)
    why = await why_job(store, "b")
    assert why is not None
    assert [(item.job.job, item.job.cause) for item in why.jobs] == [("b", "behind"), ("a", "quarantined")]
    assert "quarantined at tick 3" in why.jobs[1].text
    assert "customer called" in why.jobs[1].text
    assert why.next is not None
    assert "redrive a" in why.next


async def test_a_free_flow_without_a_place_says_how_many_are_taken(store: Store) -> None:
    await store.admit_many([Admission("points", name, 1, "F", 2) for name in "abc"])
    await store.claim(3, W1, now=1)
    why = await why_job(store, "c")
    assert why is not None
    assert why.jobs[0].job.cause == "full"
    assert "2 of 2 places" in why.summary


async def test_a_free_flow_waits_for_the_worker_of_its_next_job(store: Store) -> None:
    await store.admit("points", "a", 1, flow="F", width=2)
    await store.switch(V2.digest, 1)
    await store.admit("points", "b", 1, flow="F")
    await live(store, W2)
    assert await cause(store, "a") == "undeclared"
    assert await cause(store, "b") == "behind"


async def test_a_done_job_waits_for_nothing(store: Store) -> None:
    await store.switch(V2.digest, 1)
    await store.admit("points", "a", 1)
    claims = await store.claim(1, W2)
    await store.commit_step(claims.claims[0].token, 1, worker=W2)
    why = await why_job(store, "a")
    assert why is not None
    assert why.summary.startswith("done")
    assert why.jobs == ()


async def test_an_unknown_job_or_flow_is_none(store: Store) -> None:
    assert await why_job(store, "nobody") is None
    assert await why_flow(store, "nowhere") is None


async def test_the_counts_of_a_drain_add_up_to_the_unfinished_total(store: Store) -> None:
    await store.admit_many([Admission("points", f"{flow}{number}", 1, flow) for flow in "ABCD" for number in range(3)])
    await store.claim(1, W1, now=1)
    await store.quarantine_job("B0", 0, "look at it", now=2)
    failed = (await store.claim(1, W1, now=2)).claims[0]
    await store.fail(failed.token, "no", now=2)
    why = await why_drain(store)
    assert sum(found.jobs for found in why.causes) == why.unfinished == 12
    assert {item.job.job for item in why.jobs} == {f"{flow}{number}" for flow in "ABCD" for number in range(3)}
    assert {found.cause: found.jobs for found in why.causes} == {
        "leased": 1,
        "quarantined": 1,
        "waiting": 1,
        "undeclared": 1,
        "behind": 8,
    }


async def test_a_drain_names_at_most_the_limit_of_each_cause_and_counts_all(store: Store) -> None:
    await store.admit_many([Admission("points", f"j{number}", 1) for number in range(9)])
    why = await why_drain(store, limit=2)
    assert [found.jobs for found in why.causes] == [9]
    assert len(why.jobs) == 2
    assert [cover.unfinished for cover in why.uncovered] == [9]


async def test_an_empty_store_has_nothing_that_blocks_a_drain(store: Store) -> None:
    why = await why_drain(store)
    assert (why.unfinished, why.causes, why.jobs) == (0, (), ())
    assert "nothing is unfinished" in why.summary


async def test_a_flow_lists_its_unfinished_jobs_in_their_order(store: Store) -> None:
    await store.admit_many([Admission("points", f"j{number}", 1, "F") for number in range(3)])
    why = await why_flow(store, "F")
    assert why is not None
    assert [item.job.job for item in why.jobs] == ["j0", "j1", "j2"]
    assert "ordered; 3 unfinished" in why.summary


async def test_a_definition_is_found_by_its_beginning_and_says_who_declares_it(store: Store) -> None:
    await store.admit("points", "a", 1)
    await live(store, W1)
    why = await why_definition(store, V1.digest[:8])
    assert why is not None
    assert "1 unfinished, 0 done; declared by W1; new jobs go to it (revision 1)" in why.summary
    assert why.unfinished == sum(found.jobs for found in why.causes) == 1


async def test_a_definition_that_nobody_registered_is_refused_by_name(store: Store) -> None:
    with pytest.raises(InvalidValue, match="begins with 'ffff'"):
        await why_definition(store, "ffff")
    assert await why_definition(store, "f" * 64) is None

"""The fair order as a property: random flows, outcomes, newcomers, batches (contract §5)."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from demos.scenarios.world import World, step, world
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Admission, Claim, Worker

AT_ONCE = Manifest("relay", "relay/1", (step("deliver", "deliver", base=0, budget=1_000),))
W1 = Worker.declaring("w1", AT_ONCE)
OUTCOMES = ("done", "fail", "release")
RUNS = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


async def end(here: World, outcome: str) -> str:
    """Claim one, end it so; its flow."""
    claim = await here.take(W1)
    assert claim.flow is not None
    if outcome == "done":
        await here.commit(claim, W1)
    elif outcome == "fail":
        await here.fail(claim)
    else:
        await here.store.release(claim.token, "again")
    return claim.flow


async def fill(here: World, flow: str, count: int = 30) -> None:
    """A flow with so many events."""
    await here.store.admit_many([Admission("relay", f"{flow}-{number}", 1, flow) for number in range(count)])


@given(flows=st.integers(1, 6), outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=6, max_size=24))
@RUNS
async def test_r09_flows_that_stay_claimable_are_each_claimed_once_in_every_round(
    flows: int, outcomes: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with world(Path(folder)) as here:
            await here.define(AT_ONCE)
            for number in range(flows):
                await fill(here, f"f{number}")
            order = [await end(here, outcome) for outcome in outcomes]
    for start in range(len(order) - flows + 1):
        assert len(set(order[start : start + flows])) == flows, order


@given(steps=st.lists(st.tuples(st.booleans(), st.sampled_from(OUTCOMES)), min_size=8, max_size=30))
@RUNS
async def test_r12_between_two_claims_of_a_flow_each_older_one_comes_once_and_none_that_came_later(
    steps: list[tuple[bool, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with world(Path(folder)) as here:
            await here.define(AT_ONCE)
            await fill(here, "f0")
            born, order = {"f0": 0}, []
            for time, (newcomer, outcome) in enumerate(steps, 1):
                order.append(await end(here, outcome))
                if newcomer:
                    born[f"f{time}"] = time
                    await fill(here, f"f{time}")
    for first, flow in enumerate(order):
        if flow not in order[first + 1 :]:
            continue
        second = order.index(flow, first + 1)
        between = order[first + 1 : second]
        assert len(set(between)) == len(between), order
        assert all(born[other] <= first for other in between), order


@given(
    limits=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    widths=st.lists(st.integers(0, 3), min_size=1, max_size=5),
)
@RUNS
async def test_claiming_many_is_claiming_one_that_often(limits: list[int], widths: list[int]) -> None:
    async def claimed(batches: list[int]) -> list[tuple[str, int]]:
        with tempfile.TemporaryDirectory() as folder:
            async with world(Path(folder)) as here:
                await here.define(AT_ONCE)
                for number, width in enumerate(widths):
                    items = [
                        Admission("relay", f"{number}-{place}", 1, f"f{number}", width or None) for place in range(4)
                    ]
                    await here.store.admit_many(items)
                found: list[Claim] = []
                for limit in batches:
                    found.extend((await here.store.claim(limit, W1)).claims)
                return [(claim.token.job, claim.ticket) for claim in found]

    assert await claimed(limits) == await claimed([1] * sum(limits))


@pytest.mark.parametrize("limits", [[1] * 6, [2, 2, 2], [6]])
async def test_a_tie_goes_to_the_older_flow_also_among_jobs_without_one(here: World, limits: list[int]) -> None:
    await here.define(AT_ONCE)
    for name, flow in (("x1", None), ("a1", "a"), ("x2", None), ("b1", "b"), ("x3", None), ("c1", "c")):
        await here.store.admit("relay", name, 1, flow=flow)
    found = [(await here.store.claim(limit, W1)).claims for limit in limits]
    assert [claim.token.job for claims in found for claim in claims] == ["x1", "a1", "x2", "b1", "x3", "c1"]

"""10,000 jobs in 1,000 flows on four processes: each done once, in fair turns, and each process has its share."""

from pathlib import Path

import anyio
import pytest

from runtime.bench import apps
from runtime.bench.children import drain_together, started
from runtime.protocol.records import Admission, Answer
from runtime.store.store import Store
from tests.crash.invariants import check

FLOWS = 1_000
JOBS_OF_A_FLOW = 10
JOBS = FLOWS * JOBS_OF_A_FLOW
PROCESSES = 4
TICKETS = """
select f.name, j.seq, e.value from keepstep_effect e
join keepstep_job j on j.id = e.job join keepstep_flow f on f.id = j.flow order by j.flow, j.seq
"""


async def queue(path: Path) -> None:
    """Every flow's first job, then every flow's second, and so on."""
    async with await Store.open(path) as store:
        await apps.ticketed.prepare(store)
        for round_ in range(JOBS_OF_A_FLOW):
            items = [
                Admission(apps.TICKETED.name, f"{flow}-{round_}", {"n": round_}, flow=f"flow-{flow}")
                for flow in range(FLOWS)
            ]
            answers = await store.admit_many(items)
            assert all(isinstance(answer, Answer) for answer in answers)


@pytest.mark.timeout(120)
async def test_ten_thousand_jobs_in_a_thousand_flows_on_four_processes(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    await queue(path)
    with started(PROCESSES, "ticketed", path, "drain") as children:
        went = await anyio.to_thread.run_sync(drain_together, children)

    assert check(path) == []
    async with await Store.open(path, create=False) as store:
        seen = await store.snapshot()
        rows = await store.query(TICKETS)
    assert seen.jobs["done"] == seen.effects == seen.ticket == JOBS
    assert sum(one.committed for one in went) == JOBS

    tickets: dict[str, list[int]] = {}
    for flow, _, ticket in rows:
        tickets.setdefault(flow, []).append(int(ticket))
    assert sorted(ticket for flow in tickets.values() for ticket in flow) == list(range(1, JOBS + 1))
    assert all(flow == sorted(flow) for flow in tickets.values())
    for k in range(JOBS_OF_A_FLOW - 2):
        last = max(flow[k] for flow in tickets.values())
        first = min(flow[k + 2] for flow in tickets.values())
        assert last < first, f"a flow's turn {k + 1} came after another's turn {k + 3}"

    least = min(one.committed for one in went)
    assert least >= JOBS / PROCESSES / 2, f"shares: {[one.committed for one in went]}"

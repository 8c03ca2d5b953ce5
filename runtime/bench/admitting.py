"""admit: jobs accepted a second, one by one, by 64 at once, and in one call."""

import time
from math import ceil

import anyio

from runtime.bench import apps, ground
from runtime.bench.figures import Figure, Limit
from runtime.bench.lab import Lab, admit_all
from runtime.protocol.records import Admission
from runtime.store.store import Store

SUBMITTERS = 64
WORKFLOW = apps.ONE.name


async def admit(lab: Lab) -> list[Figure]:
    """The three ways to submit, each beside plain inserts committed in the same portions."""
    ways = {
        "one by one": (_one_by_one, lab.amount(1_000), 1),
        "64 submitters at once": (_at_once, lab.amount(10_000), SUBMITTERS),
        "one call with 10,000": (_one_call, 10_000, 10_000),
    }
    wanted = {"64 submitters at once": 10_000.0, "one call with 10,000": 50_000.0}
    figures = []
    for name, (way, count, portion) in ways.items():
        runs, plain = [], []
        for _ in range(lab.often):
            plain.append(ground.rows_per_s(lab.folder, count, portion))
            with lab.path() as path:
                async with await Store.open(path) as store:
                    await apps.one.prepare(store)
                    await admit_all(store, WORKFLOW, 1)
                    started = time.perf_counter()
                    done = await way(store, count)
                    runs.append(done / (time.perf_counter() - started))
        limit = Limit(f"plain rows, {portion:,} a commit", tuple(plain))
        share = 0.5 if portion == 1 else None
        figures.append(Figure("admit", name, "jobs/s", tuple(runs), limit, wanted.get(name), share_wanted=share))
    return figures


async def _one_by_one(store: Store, count: int) -> int:
    for number in range(count):
        await store.admit(WORKFLOW, f"job-{number}", {"n": number})
    return count


async def _at_once(store: Store, count: int) -> int:
    each = ceil(count / SUBMITTERS)

    async def submit(submitter: int) -> None:
        for number in range(each):
            await store.admit(WORKFLOW, f"job-{submitter}-{number}", {"n": number})

    async with anyio.create_task_group() as group:
        for submitter in range(SUBMITTERS):
            group.start_soon(submit, submitter)
    return each * SUBMITTERS


async def _one_call(store: Store, count: int) -> int:
    await store.admit_many([Admission(WORKFLOW, f"job-{number}", {"n": number}) for number in range(count)])
    return count

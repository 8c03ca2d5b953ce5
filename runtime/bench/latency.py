"""latency: from asking for admission to the handler's start, on a worker that is otherwise idle."""

import time
from contextlib import ExitStack

import anyio

from runtime.bench import apps
from runtime.bench.children import started, wait_ready
from runtime.bench.figures import Figure, Limit, percentile
from runtime.bench.ground import fsync_ms
from runtime.bench.lab import CONCURRENCY, Lab
from runtime.embed import run
from runtime.store.store import Store

RATE_PER_S = 50
SECONDS = 10
PAUSE_S = 0.3


async def latency(lab: Lab) -> list[Figure]:
    """50 jobs a second for ten seconds, the worker in the same process and in another one."""
    count = lab.amount(RATE_PER_S * SECONDS)
    limit = Limit("one fsync, p50", (percentile(fsync_ms(lab.folder), 0.5),))
    figures = []
    for title, elsewhere, p50, p99 in (("same process", False, 3, 12), ("another process", True, 15, 40)):
        rounds = [await _round(lab, count, elsewhere=elsewhere) for _ in range(1 if lab.quick else min(lab.runs, 3))]
        for name, part, most in (("p50", 0.5, p50), ("p99", 0.99, p99)):
            values = tuple(percentile(taken, part) for taken in rounds)
            figures.append(Figure("latency", f"{title}: {name}", "ms", values, limit, most, at_least=False))
    return figures


async def _round(lab: Lab, count: int, *, elsewhere: bool) -> list[float]:
    with lab.path() as path:
        async with await Store.open(path) as store:
            await apps.stamped.prepare(store)
            with ExitStack() as stack:
                async with anyio.create_task_group() as group:
                    if elsewhere:
                        children = stack.enter_context(started(1, "stamped", path, "serve"))
                        await anyio.to_thread.run_sync(wait_ready, children)
                    else:
                        group.start_soon(_work, store)
                    await anyio.sleep(PAUSE_S)
                    asked = await _submit(store, count)
                    await _wait_done(store)
                    group.cancel_scope.cancel()
            rows = await store.query(
                "select j.key, e.value from keepstep_effect e join keepstep_job j on j.id = e.job", ()
            )
    return [(int(value) - asked[key]) / 1000 for key, value in rows]


async def _work(store: Store) -> None:
    await run(apps.stamped, store, concurrency=CONCURRENCY)


async def _submit(store: Store, count: int) -> dict[str, int]:
    """Ask for one admission after another at a steady rate; when each was asked for, in microseconds."""
    asked = {}
    begun = time.monotonic()
    for number in range(count):
        await anyio.sleep(max(0.0, begun + number / RATE_PER_S - time.monotonic()))
        key = f"job-{number}"
        asked[key] = time.monotonic_ns() // 1000
        await store.admit(apps.STAMPED.name, key, {"n": number})
    return asked


async def _wait_done(store: Store) -> None:
    while any((await store.snapshot()).unfinished_by_definition.values()):  # noqa: ASYNC110  another process does them
        await anyio.sleep(0.02)

"""drain and steps: how fast what is queued gets done by one process."""

from collections.abc import Sequence
from typing import NamedTuple

from runtime.bench import apps, bare
from runtime.bench.figures import Figure, Limit
from runtime.bench.lab import Lab, replayed, watched, work_off
from workers import App

SLOWER_MS = 1.0


class Drained(NamedTuple):
    """One run: steps a second from the first claim to the last commit, fsyncs a step."""

    steps_per_s: float
    fsyncs_per_step: float


async def drain(lab: Lab) -> list[Figure]:
    """5,000 one-step jobs that are queued already, concurrency 32."""
    count = lab.amount(5_000)
    runs, limits, slow = [], [], []
    for _ in range(lab.often):
        runs.append(await _run(lab, apps.one, count, 1))
        limits.append(await _bare(lab, apps.one, count, slower_ms=SLOWER_MS))
        slow.append(await _run(lab, apps.one, count, 1, slower_ms=SLOWER_MS))
    return [
        Figure("drain", "jobs done", "jobs/s", _rates(runs), _limit(limits), 15_000, share_wanted=0.5),
        Figure("drain", "fsyncs a job", "", _fsyncs(runs), _fsync_limit(limits), 0.1, at_least=False),
        Figure("drain", "every fsync 1 ms slower", "jobs/s", _rates(slow), _slower_limit(limits), 8_000),
    ]


async def steps(lab: Lab) -> list[Figure]:
    """1,000 jobs of five steps, concurrency 32."""
    count = lab.amount(1_000)
    runs, limits = [], []
    for _ in range(lab.often):
        runs.append(await _run(lab, apps.five, count, 5))
        limits.append(await _bare(lab, apps.five, count))
    return [
        Figure("steps", "steps committed", "steps/s", _rates(runs), _limit(limits), 15_000),
        Figure("steps", "fsyncs a step", "", _fsyncs(runs), _fsync_limit(limits), 0.1, at_least=False),
    ]


async def _run(lab: Lab, app: App, jobs: int, steps: int, *, slower_ms: float = 0) -> Drained:
    async with lab.queued(app, jobs) as path, await watched(path) as store:
        counted = await store.count_fsyncs(slower_ms=slower_ms)
        await work_off(store, app)
        if store.committed != jobs * steps:
            raise AssertionError(f"{store.committed} steps were committed, {jobs * steps} were queued")
        return Drained(store.committed / store.seconds, counted.fsyncs / store.committed)


async def _bare(lab: Lab, app: App, jobs: int, *, slower_ms: float = 0) -> bare.Replayed:
    async with lab.queued(app, jobs) as path:
        return await replayed(path, app.manifests[0], slower_ms=slower_ms)


def _limit(taken: Sequence[bare.Replayed]) -> Limit:
    return Limit(bare.NAME, tuple(one.steps_per_s for one in taken))


def _slower_limit(taken: Sequence[bare.Replayed]) -> Limit:
    return Limit("same statements, commits as slow", tuple(one.slower_steps_per_s for one in taken))


def _fsync_limit(taken: Sequence[bare.Replayed]) -> Limit:
    return Limit("its commits", tuple(one.fsyncs_per_step for one in taken))


def _rates(runs: Sequence[Drained]) -> tuple[float, ...]:
    return tuple(run.steps_per_s for run in runs)


def _fsyncs(runs: Sequence[Drained]) -> tuple[float, ...]:
    return tuple(run.fsyncs_per_step for run in runs)

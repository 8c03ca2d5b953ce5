"""processes: 1, 2, 4 and 8 processes on one file: the total, the shares, the longest wait for a turn."""

import anyio

from runtime.bench import apps, bare, ground
from runtime.bench.child import Went
from runtime.bench.children import drain_together, started
from runtime.bench.figures import Figure, Limit
from runtime.bench.lab import Lab, replayed
from runtime.bench.rows import READY

COUNTS = (1, 2, 4, 8)
EVEN = Limit("an even share", (1.0,))


async def processes(lab: Lab) -> list[Figure]:
    """20,000 one-step jobs shared by several processes that begin together; in each run every number of processes."""
    jobs = lab.amount(20_000)
    longest = Limit("one fsync, the longest of 200", (max(ground.fsync_ms(lab.folder)),))
    rounds: dict[int, list[list[Went]]] = {count: [] for count in (COUNTS[:3] if lab.quick else COUNTS)}
    plain = []
    for _ in range(lab.runs):
        plain.append(await _bare(lab, jobs))
        for count, mine in rounds.items():
            mine.append(await _round(lab, count, jobs))
    totals = {count: tuple(jobs / _seconds(went) for went in mine) for count, mine in rounds.items()}
    alone = Limit("the total at 1 process", totals[1])
    figures: list[Figure] = []
    for count, mine in rounds.items():
        title = f"{count} process{'es' if count > 1 else ''}"
        limit = alone if count > 1 else Limit(bare.NAME, tuple(plain))
        wanted = 0.8 if count == 4 else None
        figures.append(Figure("processes", f"{title}: total", "jobs/s", totals[count], limit, share_wanted=wanted))
        if count > 1:
            shares = tuple(min(_counts(went)) / max(_counts(went)) for went in mine)
            figures.append(Figure("processes", f"{title}: smallest share of the largest", "", shares, EVEN, 0.7))
        waits = tuple(max(one.longest_wait_ms for one in went) for went in mine)
        name = f"{title}: longest wait for a turn"
        figures.append(Figure("processes", name, "ms", waits, longest, 100, at_least=False, every_run=True))
    return figures


async def _bare(lab: Lab, jobs: int) -> float:
    async with lab.filled((apps.ONE, READY, jobs)) as path:
        return (await replayed(path, apps.ONE)).steps_per_s


async def _round(lab: Lab, count: int, jobs: int) -> list[Went]:
    async with lab.filled((apps.ONE, READY, jobs)) as path:
        with started(count, "one", path, "drain") as children:
            return await anyio.to_thread.run_sync(drain_together, children)


def _seconds(went: list[Went]) -> float:
    busy = [one for one in went if one.committed]
    return max(one.last_commit_s for one in busy) - min(one.first_claim_s for one in busy)


def _counts(went: list[Went]) -> list[int]:
    return [one.committed for one in went]

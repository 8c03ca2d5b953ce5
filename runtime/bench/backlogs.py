"""backlog: the rate of the next 2,000 jobs does not depend on what lies behind, beside or before them."""

from pathlib import Path

from runtime.bench import apps, bare
from runtime.bench.figures import Figure, Limit
from runtime.bench.lab import Lab, replayed, watched, work_off
from runtime.bench.rows import DONE, HEADS, QUARANTINED, READY
from runtime.protocol.manifest import Manifest

NEXT = 2_000
SHARE = 0.8
Parts = tuple[tuple[Manifest, int | str, int], ...]


def kinds(lab: Lab) -> dict[str, Parts]:
    """What a database is filled with; in a quick run a tenth of it, and only as far as 20,000."""
    some, many, most = lab.amount(20_000), lab.amount(100_000), 1_000_000
    ready = (apps.ONE, READY, some)
    small: dict[str, Parts] = {f"backlog of {some:,}": (ready,)}
    large: dict[str, Parts] = {
        "backlog of 200,000": ((apps.ONE, READY, 200_000),),
        f"backlog of {most:,}": ((apps.ONE, READY, most),),
        f"behind {most:,} finished jobs": ((apps.ONE, DONE, most), ready),
    }
    beside: dict[str, Parts] = {
        f"beside {many:,} blocked flows": ((apps.ONE, QUARANTINED, many), ready),
        f"beside {many:,} flows of a foreign digest": ((apps.FOREIGN, HEADS, many), ready),
    }
    return small | beside if lab.quick else small | large | beside


async def backlog(lab: Lab) -> list[Figure]:
    """Each beside the rate at a backlog of 2,000, which is taken anew before each of its runs: disks drift."""
    count = lab.amount(NEXT)
    every: list[float] = []
    plain: list[float] = []
    figures = []
    for name, parts in kinds(lab).items():
        rates, base = [], []
        async with lab.filled(*parts) as path:
            for _ in range(lab.runs):
                async with lab.filled((apps.ONE, READY, count)) as small:
                    base.append(await _rate(small, count))
                rates.append(await _rate(path, count))
        limit = Limit(f"the rate at {count:,}, in turn", tuple(base))
        figures.append(Figure("backlog", name, "jobs/s", tuple(rates), limit, share_wanted=SHARE))
        every += base
        async with lab.filled((apps.ONE, READY, count)) as path:
            plain.append((await replayed(path, apps.ONE)).steps_per_s)
    limit = Limit(bare.NAME, tuple(plain))
    return [Figure("backlog", f"backlog of {count:,}", "jobs/s", tuple(every), limit), *figures]


async def _rate(path: Path, count: int) -> float:
    async with await watched(path) as store:
        await work_off(store, apps.one, most=count)
        return store.committed / store.seconds

"""Which benches there are, and running them one after another."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Literal

from runtime.bench.admitting import admit
from runtime.bench.backlogs import backlog
from runtime.bench.draining import drain, steps
from runtime.bench.figures import Figure
from runtime.bench.lab import Lab
from runtime.bench.latency import latency
from runtime.bench.resting import idle, size
from runtime.bench.sharing import processes

Which = Literal["all", "quick", "admit", "drain", "steps", "latency", "backlog", "processes", "idle", "size"]
BENCHES: dict[str, Callable[[Lab], Awaitable[list[Figure]]]] = {
    "admit": admit,
    "drain": drain,
    "steps": steps,
    "latency": latency,
    "backlog": backlog,
    "processes": processes,
    "idle": idle,
    "size": size,
}


async def run(wanted: Collection[Which], lab: Lab) -> AsyncIterator[tuple[str, list[Figure]]]:
    """Each bench's figures as it ends; `all` is every one of them, and so is `quick` if none is named beside it."""
    named = BENCHES.keys() & wanted
    chosen = BENCHES.keys() if "all" in wanted or not named else named
    for name, bench in BENCHES.items():
        if name in chosen:
            yield name, await bench(lab)

"""Every scene, every change of the disk, every kind of fault: in an order of chance, so far as time or count allow."""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import NamedTuple

import anyio

from tests.faults.bench import Ready, Server, made_ready, serving
from tests.faults.judge import judged, kind
from tests.faults.scenes import Scene
from tests.powerloss.shim import Mode

FAULTS = tuple(Mode)[Mode.EIO_ONCE :]


class Point(NamedTuple):
    """One fault: this mode, from the `call`-th change of the disk on."""

    ready: Ready
    mode: Mode
    call: int

    def __str__(self) -> str:
        change = self.ready.changes[self.call - 1]
        return f"{self.ready.scene.name}, {self.mode.name.lower()} at change {self.call} ({change})"


class Outcome:
    """How many points there are, how those that were played went, and what was wrong."""

    def __init__(self) -> None:
        self.there: Counter[Mode] = Counter()
        self.went: defaultdict[Mode, Counter[str]] = defaultdict(Counter)
        self.broken: list[str] = []

    @property
    def played(self) -> int:
        """How many points were played."""
        return sum(words.total() for words in self.went.values())


async def play(
    library: Path, folder: Path, scenes: Sequence[Scene], *, count: int | None, seconds: float, seed: int
) -> Outcome:
    """Make the scenes ready, then play so many points, or for so long, on as many servers as there are cores."""
    until = time.monotonic() + seconds
    outcome = Outcome()
    async with AsyncExitStack() as stack:
        servers = []
        for number in range(min(os.cpu_count() or 1, len(scenes))):
            place = folder / f"server-{number}"
            place.mkdir()
            servers.append(await stack.enter_async_context(serving(library, place)))
        readies = await _made_ready(scenes, folder, servers)
        points = [Point(ready, mode, call + 1) for ready in readies for mode in FAULTS for call in _calls(ready)]
        outcome.there.update(point.mode for point in points)
        Random(seed).shuffle(points)
        waiting = points if count is None else points[:count]

        async def work(server: Server) -> None:
            while waiting and (count is not None or time.monotonic() < until):
                await _play(waiting.pop(), server, outcome)

        async with anyio.create_task_group() as group:
            for server in servers:
                group.start_soon(work, server)
    return outcome


async def _made_ready(scenes: Sequence[Scene], folder: Path, servers: Sequence[Server]) -> list[Ready]:
    waiting, readies = list(enumerate(scenes)), []

    async def work(server: Server) -> None:
        while waiting:
            number, scene = waiting.pop()
            readies.append(await made_ready(scene, folder / f"scene-{number}", server))

    async with anyio.create_task_group() as group:
        for server in servers:
            group.start_soon(work, server)
    return sorted(readies, key=lambda ready: ready.scene.name)


def _calls(ready: Ready) -> range:
    return range(len(ready.changes))


async def _play(point: Point, server: Server, outcome: Outcome) -> None:
    ready, mode, call = point
    path, report = await server.play(ready.base, ready.calls, mode, call)
    outcome.went[mode][kind(report)] += 1
    outcome.broken += [f"{point}: {line}" for line in await judged(ready, mode, call, path, report)]

"""Scenes made ready and rehearsed without a fault, and the server that plays them with one."""

import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from demos.scenarios.scenes import of_store, said
from demos.scenarios.world import STORE_ID
from runtime.store.store import Store
from tests.faults.scenes import Call, Scene
from tests.faults.server import Order, Report
from tests.powerloss.shim import Mode, environment

NAME = "store.db"
KEPT = ("", "-wal")
LARGEST_LINE = 2**24


class Ready(NamedTuple):
    """A scene with its base; `states` are the file's contents before the first call and after each; `changes` every
    call that changed the disk when nothing failed."""

    scene: Scene
    base: Path
    calls: Sequence[Call]
    states: Sequence[Any]
    changes: Sequence[str]


class Server:
    """The server of forked children, under the shim, with a folder for what they work on."""

    def __init__(self, process: Process, folder: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._output = BufferedByteReceiveStream(process.stdout)
        self.folder = folder

    async def play(self, base: Path, calls: Sequence[Call], mode: Mode, call: int) -> tuple[Path, Report]:
        """One child at a copy of the base: the file that it left, and what it was told."""
        path = copied(base, self.folder)
        order = Order(str(path), [(one.verb, one.arguments) for one in calls], mode, call)
        await self._input.send(msgspec.json.encode(order) + b"\n")
        line = await self._output.receive_until(b"\n", LARGEST_LINE)
        return path, msgspec.json.decode(line, type=Report)


@asynccontextmanager
async def serving(library: Path, folder: Path) -> AsyncIterator[Server]:
    """A server that ends with its input."""
    words = [sys.executable, "-m", "tests.faults.server"]
    async with await anyio.open_process(words, env=environment(library), stderr=None) as process:
        yield Server(process, folder)
        assert process.stdin is not None
        await process.stdin.aclose()
        await process.wait()


async def opened(path: Path) -> Store:
    """The store on a fresh connection."""
    return await Store.open(path, clock="logical", store_id=STORE_ID)


async def made_ready(scene: Scene, folder: Path, server: Server) -> Ready:
    """The scene's base, with a write-ahead file as a killed process leaves it; and its rehearsals."""
    making, base = folder / "making", folder / "base"
    for place in (making, base):
        place.mkdir(parents=True)
    async with await opened(making / NAME) as store:
        calls = await scene.prepare(store)
        if not scene.new:
            # by another process: closing a descriptor of the file here would drop this process's locks on it
            files = [str(making / f"{NAME}{suffix}") for suffix in KEPT]
            await anyio.run_process(["cp", "-p", *files, str(base)])
    states = await rehearsed(copied(base / NAME, making), calls)
    _, report = await server.play(base / NAME, calls, Mode.COUNT, 0)
    words = [told.word for told in report.told]
    assert words == ["opened", *(call.first for call in calls), "closed"], f"{scene.name}: {report}"
    return Ready(scene, base / NAME, calls, states, report.changes)


async def rehearsed(path: Path, calls: Sequence[Call]) -> list[Any]:
    """The file's contents before the first call and after each."""
    async with await opened(path) as store:
        states = [await of_store(path)]
        for call in calls:
            assert said(await getattr(store, call.verb)(**call.arguments)) == call.first, call
            states.append(await of_store(path))
    return states


def copied(base: Path, folder: Path) -> Path:
    """A copy of the base, alone in its folder."""
    for path in folder.iterdir():
        path.unlink()
    for suffix in KEPT:
        file = base.with_name(base.name + suffix)
        if file.exists():
            shutil.copy(file, folder / file.name)
    return folder / base.name

"""A second program holds the lock, stops while it holds it, or stops past its lease."""

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from demos.scenarios import gate
from demos.scenarios.stage import LAPSED, TASK, Stage, points, run_points, take, total
from demos.scenarios.world import plain
from runtime.protocol.errors import StoreBusy
from runtime.protocol.records import Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store
from tests.crash.invariants import check

HOLDER = Path(__file__).with_name("holder.py")
SHORT_MS = 150
WORKER = Worker.declaring("worker", TASK)


@asynccontextmanager
async def holding(path: Path, kind: str) -> AsyncIterator[Process]:
    """A second program that holds the write lock or the turn."""
    command = [sys.executable, "-P", str(HOLDER), str(path), kind]
    async with await anyio.open_process(command, env=gate.environment(), stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 80) == b"READY"
        yield process
        await process.stdin.aclose()
        await process.wait()


async def impatient(stage: Stage) -> Store:
    """The store with a short deadline."""
    return await Store.open(stage.path, deadline_ms=SHORT_MS)


async def one_in_flight(folder: Path) -> Stage:
    """A store with one job in flight."""
    stage = Stage(folder)
    await stage.define(TASK)
    async with await stage.store() as store:
        await store.admit("task", "a", {}, now=0)
    return stage


@pytest.mark.parametrize("kind", ["lock", "turn"])
async def test_d18_another_program_holds_the_write_lock_longer_than_the_wait(kind: str, tmp_path: Path) -> None:
    stage = await one_in_flight(tmp_path)
    async with await impatient(stage) as store:
        claim = await take(store, WORKER, 0)
        before = plain(await store.dump())
        async with holding(stage.path, kind):
            with pytest.raises(StoreBusy, match="nothing was written"):
                await store.admit("task", "b", {}, now=0)
            with pytest.raises(StoreBusy, match="nothing was written"):
                await store.transition("drain", 0, now=0)
            with pytest.raises(StoreBusy, match="nothing was written"):
                await store.commit_step(claim.token, 1, worker=WORKER, now=0)
            assert plain(await store.dump()) == before
        assert plain(await store.dump()) == before
        assert (await store.admit("task", "b", {}, now=0)).verdict == "accepted"
        assert (await store.transition("drain", 0, now=0)).verdict == "draining"
        assert (await store.commit_step(claim.token, 1, worker=WORKER, now=0)).verdict == "done"
    assert check(stage.path) == []


@pytest.mark.parametrize("kind", ["lock", "turn"])
async def test_a_stopped_holder_blocks_writers_until_it_is_killed_and_reads_go_on(kind: str, tmp_path: Path) -> None:
    stage = await one_in_flight(tmp_path)
    async with await impatient(stage) as store, holding(stage.path, kind) as holder:
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreBusy, match="nothing was written"):
            await store.admit("task", "b", {}, now=0)
        assert (await store.snapshot()).jobs["ready"] == 1
        holder.kill()
        await holder.wait()
        assert (await store.admit("task", "b", {}, now=0)).verdict == "accepted"
    assert check(stage.path) == []


async def test_a_worker_stopped_past_its_lease_comes_back_stale(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    first, second = points(OnLapse.RETRY)
    await stage.define(first, second)
    sleeper, heir = Worker.declaring("sleeper", first), Worker.declaring("heir", first)
    async with await stage.store() as store, gate.child(stage.path) as child:
        await store.admit("points", "job", {"units": 10}, now=0)
        claim = await take(store, sleeper, 0)
        await child.prepare(("commit_step", {"token": claim.token, "value": 99, "worker": sleeper, "now": LAPSED}))
        child.process.send_signal(signal.SIGSTOP)
        assert await run_points(store, heir, LAPSED) == ["advanced", "done"]
        child.process.send_signal(signal.SIGCONT)
        await child.go()
        assert (await child.answer())["verdict"] == "stale"
        assert await total(store, "job") == 11
    assert check(stage.path) == []

"""idle and size: what a process costs that has nothing to do, and what a finished job takes on the disk."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio

from runtime.bench import apps
from runtime.bench.figures import Figure, Limit
from runtime.bench.lab import Lab, admit_all, watched, work_off
from runtime.store.store import Store

WATCHED_S = 5.0
SETTLE_S = 1.0
BARE_START = "import sqlite3, asyncio"
SIZED_START = f"{BARE_START}; print(open('/proc/self/statm').read())"
BARE = "a bare interpreter with sqlite3 and asyncio"


async def idle(lab: Lab) -> list[Figure]:
    """`python -m runtime work` on a file with one job: start to first claim, then CPU and memory while idle."""
    starts, cpus, sizes, bare = [], [], [], []
    for _ in range(lab.runs):
        bare.append(await anyio.to_thread.run_sync(_bare_start_s))
        async with lab.queued(apps.stamped, 1) as path:
            start_s, cpu, size = await _idle_once(path, lab.amount(int(WATCHED_S * 10)) / 10)
            starts.append(start_s)
            cpus.append(cpu)
            sizes.append(size)
    limit = Limit(BARE, tuple(bare))
    figures = [Figure("idle", "process start to first claim", "s", tuple(starts), limit, 0.4, at_least=False)]
    if sys.platform == "linux":
        figures.append(Figure("idle", "of a core, while idle", "%", tuple(cpus), None, 0.5, at_least=False))
        least = Limit(BARE, (await anyio.to_thread.run_sync(_bare_size_mb),))
        figures.append(Figure("idle", "resident memory", "MB", tuple(sizes), least, 45, at_least=False))
    return figures


async def _idle_once(path: Path, watched_s: float) -> tuple[float, float, float]:
    begun = time.monotonic()
    command = [sys.executable, "-m", "runtime", "work", "runtime.bench.apps:stamped", "--db", str(path)]
    process = _start(command)
    try:
        async with await Store.open(path, create=False) as store:
            while not (rows := await store.query("select value from keepstep_effect", ())):
                if process.poll() is not None:
                    raise RuntimeError(f"{' '.join(command)} ended with {process.returncode} before its first claim")
                await anyio.sleep(0.01)
        started_s = int(rows[0][0]) / 1e6 - begun
        await anyio.sleep(SETTLE_S)
        before, size = _usage(process.pid)
        await anyio.sleep(watched_s)
        after, size = _usage(process.pid)
        return started_s, (after - before) / watched_s * 100, size
    finally:
        process.send_signal(signal.SIGTERM)
        await anyio.to_thread.run_sync(process.wait)


def _start(command: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _usage(pid: int) -> tuple[float, float]:
    """CPU seconds so far, all threads, and resident megabytes of a process (Linux)."""
    place = Path(f"/proc/{pid}")
    try:
        nanoseconds = sum(int(task.read_text().split()[0]) for task in place.glob("task/*/schedstat"))
        size = _resident_mb((place / "statm").read_text())
    except FileNotFoundError:
        return 0.0, 0.0
    return nanoseconds / 1e9, size


def _resident_mb(statm: str) -> float:
    return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _bare_start_s() -> float:
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", BARE_START], check=True)
    return time.monotonic() - begun


def _bare_size_mb() -> float:
    ended = subprocess.run([sys.executable, "-c", SIZED_START], check=True, stdout=subprocess.PIPE, text=True)
    return _resident_mb(ended.stdout)


async def size(lab: Lab) -> list[Figure]:
    """Bytes on disk for each finished one-step job with an identity of 36 characters."""
    count = lab.amount(10_000)
    taken = tuple([await _sized(lab, count) for _ in range(lab.runs)])
    content = Limit("identity, payload and value alone", (36 + len('{"n":9999}') + 1,))
    return [Figure("size", "bytes a finished job", "bytes", taken, content, 300, at_least=False)]


async def _sized(lab: Lab, count: int) -> float:
    with lab.path() as path:
        async with await Store.open(path) as store:
            await apps.one.prepare(store)
            await store.checkpoint()
        empty = path.stat().st_size
        async with await watched(path) as store:
            await admit_all(store, apps.one.name, count)
            await work_off(store, apps.one)
            await store.checkpoint()
        return (path.stat().st_size - empty) / count

"""idle and size: what a process costs that has nothing to do, and what a finished job takes on the disk."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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
# an idle process says every second that it lives
BARE_LIFE = """
import asyncio, select, sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in ("pragma journal_mode = wal", "pragma synchronous = full", "create table life (at integer)"):
    raw.execute(statement)
async def live():
    while not select.select([sys.stdin], [], [], 0)[0]:
        raw.execute("insert into life values (0)")
        await asyncio.sleep(1)
asyncio.run(live())
"""


class Rested(NamedTuple):
    """One run: start to first claim; of a core in per cent, of a bare loop that lives beside it too; megabytes."""

    started_s: float
    cpu: float
    bare_cpu: float
    size_mb: float


async def idle(lab: Lab) -> list[Figure]:
    """`python -m runtime work` on a file with one job: start to first claim, then CPU and memory while idle."""
    runs, bare = [], []
    for _ in range(lab.runs):
        bare.append(await anyio.to_thread.run_sync(_bare_start_s))
        async with lab.queued(apps.stamped, 1) as path:
            runs.append(await _idle_once(path, lab.amount(int(WATCHED_S * 10)) / 10))
    starts, cpus, bare_cpus, sizes = zip(*runs, strict=True)
    limit = Limit(BARE, tuple(bare))
    figures = [Figure("idle", "process start to first claim", "s", starts, limit, 0.4, at_least=False)]
    if sys.platform == "linux":
        life = Limit("a bare loop that commits a row a second", bare_cpus)
        figures.append(Figure("idle", "of a core, while idle", "%", cpus, life, 0.5, at_least=False))
        least = Limit(BARE, (await anyio.to_thread.run_sync(_bare_size_mb),))
        figures.append(Figure("idle", "resident memory", "MB", sizes, least, 45, at_least=False))
    return figures


async def _idle_once(path: Path, watched_s: float) -> Rested:
    begun = time.monotonic()
    with _running("-m", "runtime", "work", "runtime.bench.apps:stamped", "--db", str(path)) as process:
        started_s = await _first_claim_s(path, process) - begun
        with _running("-c", BARE_LIFE, f"{path}-bare") as bare:
            await anyio.sleep(SETTLE_S)
            before, bare_before = _cpu_s(process.pid), _cpu_s(bare.pid)
            await anyio.sleep(watched_s)
            after, bare_after = _cpu_s(process.pid), _cpu_s(bare.pid)
        used, bare_used = (after - before) / watched_s * 100, (bare_after - bare_before) / watched_s * 100
        return Rested(started_s, used, bare_used, _size_mb(process.pid))


async def _first_claim_s(path: Path, process: "subprocess.Popen[bytes]") -> float:
    async with await Store.open(path, create=False) as store:
        while not (rows := await store.query("select value from keepstep_effect", ())):
            if process.poll() is not None:
                raise RuntimeError(f"{process.args!r} ended with {process.returncode} before its first claim")
            await anyio.sleep(0.01)
    return int(rows[0][0]) / 1e6


@contextmanager
def _running(*arguments: str) -> "Iterator[subprocess.Popen[bytes]]":
    """A process of this interpreter, in a process group of its own; afterwards it is killed, for its file goes too."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, process_group=0
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _cpu_s(pid: int) -> float:
    """CPU seconds so far of a process, all threads (Linux)."""
    try:
        return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
    except FileNotFoundError:
        return 0.0


def _size_mb(pid: int) -> float:
    """Resident megabytes of a process (Linux)."""
    try:
        return _resident_mb(Path(f"/proc/{pid}/statm").read_text())
    except FileNotFoundError:
        return 0.0


def _resident_mb(statm: str) -> float:
    return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _bare_start_s() -> float:
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", BARE_START], check=True, process_group=0)
    return time.monotonic() - begun


def _bare_size_mb() -> float:
    command = [sys.executable, "-c", SIZED_START]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, process_group=0)
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

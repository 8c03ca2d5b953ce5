"""A pool under load is hit by SIGKILL at random moments and restarted.

    python -m tests.crash.soak --seconds 60

At the end nothing is lost, nothing was committed twice, and the barrier is reached; kills and jobs are printed.
"""

import argparse
import random
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from control.barrier import drain
from demos.scenarios.gate import environment
from runtime.protocol.records import Admission, Answer
from runtime.store.store import Store
from tests.crash.invariants import check
from tests.crash.soak_app import STEPS, app

POOLS = (1, 1, 2)
BATCH = 25
BACKLOG = 600
FLOWS = 40
SHORTEST_LIFE_S = 0.5
LONGEST_LIFE_S = 3.0
DRAIN_S = 90
GRACE_S = 30


class Soak:
    """One run: a producer with its ledger, the pools, and the hand that kills them."""

    def __init__(self, folder: Path, seconds: float, seed: int) -> None:
        self.path = folder / "soak.db"
        self.log = folder / "pools.log"
        self.seconds = seconds
        self.random = random.Random(seed)
        self.ledger: set[str] = set()
        self.kills = 0
        self.over = anyio.Event()
        self.paused = anyio.Event()

    async def run(self) -> list[str]:
        """The whole run; what does not hold at its end."""
        async with await Store.open(self.path) as store:
            await app.prepare(store)
            async with anyio.create_task_group() as group:
                for processes in POOLS:
                    group.start_soon(self.pool, processes)
                with anyio.move_on_after(self.seconds):
                    await self.produce(store)
                self.over.set()
                try:
                    with anyio.fail_after(DRAIN_S):
                        await self.drain(store)
                finally:
                    self.paused.set()
        return self.faults()

    async def produce(self, store: Store) -> None:
        """Admit without end, a bounded backlog ahead of the pools; what was acknowledged goes into the ledger."""
        number = 0
        while True:
            items = [self.admission(place) for place in range(number, number + BATCH)]
            number += BATCH
            with anyio.CancelScope(shield=True):
                answers = await store.admit_many(items)
            for item, answer in zip(items, answers, strict=True):
                if not isinstance(answer, Answer) or answer.verdict != "accepted":
                    raise RuntimeError(f"{item.id} was not accepted: {answer}")
                self.ledger.add(item.id)
            if number > BACKLOG:
                await store.wait_done(f"job-{number - BACKLOG}")

    def admission(self, number: int) -> Admission:
        """A job of an ordered flow, of a free one, or of none."""
        flow = None if number % 5 == 0 else f"flow-{number % FLOWS}"
        width = 4 if flow is not None and number % FLOWS < FLOWS // 4 else None
        return Admission("soak", f"job-{number}", {"n": number}, flow, width)

    async def pool(self, processes: int) -> None:
        """Start, kill at a random moment, start again; once the time is over, let the last one work to the end."""
        while not self.over.is_set():
            async with await self.started(processes) as pool:
                with anyio.move_on_after(self.random.uniform(SHORTEST_LIFE_S, LONGEST_LIFE_S)):
                    await self.over.wait()
                if pool.returncode is not None:
                    raise RuntimeError(f"a pool ended by itself with {pool.returncode}: {self.log.read_text()[-2000:]}")
                pool.kill()
                self.kills += 1
        async with await self.started(processes) as pool:
            await self.paused.wait()
            pool.send_signal(signal.SIGTERM)
            with anyio.fail_after(GRACE_S):
                await pool.wait()
            if pool.returncode != 0:
                raise RuntimeError(f"a pool stopped with {pool.returncode}: {self.log.read_text()[-2000:]}")

    async def started(self, processes: int) -> Process:
        """A pool of so many processes."""
        command = [sys.executable, "-m", "runtime", "work", "tests.crash.soak_app:app", "--db", str(self.path)]
        command += ["--processes", str(processes), "--concurrency", "16"]
        with self.log.open("ab") as log:
            return await anyio.open_process(command, env=environment(), stdin=None, stdout=log, stderr=log)

    async def drain(self, store: Store) -> None:
        """Shut the door and wait until a pool's control has paused."""
        await drain(store, wait=True, reason="the soak is over")

    def faults(self) -> list[str]:
        """What does not hold: an invariant, a lost job, a step that was committed twice."""
        found = check(self.path)
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as raw:
            done = {row[0] for row in raw.execute("select key from keepstep_job where state = 5")}
            twice = raw.execute("select job, step from soak_row group by job, step having count(*) > 1").fetchall()
            (rows,) = raw.execute("select count(*) from soak_row").fetchone()
            (lapses,) = raw.execute("select count(*) from keepstep_history where what = 'lapsed'").fetchone()
        self.lapses = int(lapses)
        if lost := self.ledger - done:
            found.append(f"{len(lost)} acknowledged jobs are not done: {sorted(lost)[:5]}")
        if twice:
            found.append(f"steps committed twice: {twice[:5]}")
        if rows != len(done) * len(STEPS):
            found.append(f"{rows} rows of {len(done)} jobs with {len(STEPS)} steps each")
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 if everything holds."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long the pools are killed (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="fixes the moments of the kills, not the scheduling")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="keepstep-soak-") as folder:
        soak = Soak(Path(folder), options.seconds, options.seed)
        faults: list[Any] = anyio.run(soak.run)
        print(f"soak: {soak.kills} kills, {len(soak.ledger)} jobs, {soak.lapses} leases lapsed")
    for fault in faults:
        print(f"FAULT: {fault}")
    print("FAIL" if faults else "PASS: nothing lost, nothing committed twice, the barrier reached")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

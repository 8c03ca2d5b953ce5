"""One recording, and passes over it: each pass looks at a few hundred disks spread over the whole of it."""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import anyio
import msgspec

from tests.powerloss.judge import judged, put
from tests.powerloss.log import read
from tests.powerloss.shim import environment
from tests.powerloss.states import states

A_PASS = 200
MEMORY = Path("/dev/shm")  # disks are built where writing is cheap


class Outcome(msgspec.Struct):
    """What was looked at: states by what was lost of the unsynced, rows that were answered and are gone, faults."""

    states: Counter[str]
    losing: int = 0
    lost: int = 0
    broken: list[str] = []

    def add(self, other: "Outcome") -> None:
        """Take another pass's outcome in."""
        self.states += other.states
        self.losing += other.losing
        self.lost += other.lost
        self.broken += other.broken


def record(library: Path, folder: Path, durability: str, rounds: int) -> Path:
    """Let a child work under the shim; its log."""
    place = folder / durability
    place.mkdir()
    log = place / "log"
    words = [sys.executable, "-m", "tests.powerloss.child", str(place / "store.db"), str(log), durability, str(rounds)]
    subprocess.run(words, check=True, env=environment(library))
    return log


def one_pass(log: Path, seed: int, count: int = A_PASS) -> Outcome:
    """Build and judge `count` disks."""
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="keepstep-disk-", dir=place) as name:
        return anyio.run(_judge, log, seed, count, Path(name))


async def _judge(log: Path, seed: int, count: int, folder: Path) -> Outcome:
    outcome = Outcome(Counter())
    random = Random(seed)
    for state in states(list(read(log)), count, random):
        found = await judged(put(folder, state.files), state.answered)
        outcome.states[state.loss] += 1
        outcome.losing += bool(found.lost)
        outcome.lost += len(found.lost)
        where = f"seed {seed}, {state.loss} at record {state.moment}"
        outcome.broken += [f"{where}: {line}" for line in found.broken]
    return outcome

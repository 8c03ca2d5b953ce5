"""`python -m tests.audit [--seeds 50] [--operations 500] [--rounds 40]`: three PASS lines, or what was found."""

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import anyio

from tests.audit import damage, races, walks


def a1(folder: Path, seeds: int, operations: int) -> str:
    """Seeds side by side on the cores there are."""
    context = multiprocessing.get_context("forkserver")
    checks, heard = 0, Counter[str]()
    with ProcessPoolExecutor(min(4, os.cpu_count() or 1), mp_context=context) as pool:
        for count, words in pool.map(partial(walks.one_seed, folder, operations), range(seeds)):
            checks += count
            heard += words
    if checks != seeds * operations:
        raise AssertionError(f"{checks} operations were checked, {seeds * operations} were asked for")
    return f"{seeds} seeds × {operations} operations, {len(heard)} kinds of answers, invariants after every operation"


def a2(folder: Path, rounds: int) -> str:
    """Races of gated processes."""
    count = races.rounds(folder, rounds)
    return f"{rounds} rounds × {len(races.ROLES)} gated processes ({count} in all) that claim, migrate and switch"


def a3(folder: Path) -> str:
    """Registry damage."""
    refused = anyio.run(damage.damage, folder / "damage.db")
    return f"a registry row changed behind the store's back: {refused} of 2 refused, its neighbour commits"


def main() -> int:
    """Runs the three; 0 if all passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=40)
    chosen = parser.parse_args()
    failed = 0
    multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.audit.walks", "tests.audit.races"])
    with tempfile.TemporaryDirectory(prefix="keepstep-audit-") as name:
        folder = Path(name)
        parts = {
            "A1": partial(a1, folder, chosen.seeds, chosen.operations),
            "A2": partial(a2, folder, chosen.rounds),
            "A3": partial(a3, folder),
        }
        for part, run in parts.items():
            begun = time.monotonic()
            try:
                told = run()
            except Exception as error:
                failed = 1
                notes = "; ".join(getattr(error, "__notes__", ()))
                print(f"FAIL {part}: {type(error).__name__}: {error} {notes}", flush=True)
            else:
                print(f"PASS {part}: {told} ({time.monotonic() - begun:.1f} s)", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

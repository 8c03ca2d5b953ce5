"""Power loss, simulated: `python -m tests.powerloss [--states N] [--seconds 60] [--seed 0]`, Linux with a C compiler.

A child admits and commits through a store while a preloaded library records its writes, syncs and answers. From that
log disks are built that a power loss could leave: everything unsynced gone, some writes, some sectors of 512 bytes,
the latest writes. Each is opened with a fresh store: the invariants hold, and every answered job and step is there.
The same at `durability="normal"` is the control, which must lose rows that were answered; if it does not, this command
fails, since then it would see nothing. Exit 0 if all held, 1 if not, 2 where it cannot run.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.powerloss.run import A_PASS, Outcome, one_pass, record
from tests.powerloss.shim import built, missing

ROUNDS = 12
SHOWN = 10


def passes(pool: ProcessPoolExecutor, log: Path, seed: int, count: int | None, until: float) -> Outcome:
    """As many passes as the count or the time allow, side by side."""
    total = Outcome(Counter())
    left = _sizes(count)
    for round_seed in range(seed, 2**31, os.cpu_count() or 1):
        sizes = [size for size in (next(left, 0) for _ in range(os.cpu_count() or 1)) if size]
        begun = time.monotonic()
        jobs = [pool.submit(one_pass, log, round_seed + place, size) for place, size in enumerate(sizes)]
        for job in jobs:
            total.add(job.result())
        if not sizes or (count is None and time.monotonic() + (time.monotonic() - begun) / 2 > until):
            break
    return total


def _sizes(count: int | None) -> Iterator[int]:
    left = count if count is not None else sys.maxsize
    while left > 0:
        yield min(left, A_PASS)
        left -= A_PASS


def main() -> int:
    """Record twice, judge twice; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.powerloss", description=__doc__)
    parser.add_argument("--states", type=int, help="so many disks at full durability, however long it takes")
    parser.add_argument("--seconds", type=float, default=60, help="without --states: about so long (default 60)")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if (cause := missing()) is not None:
        print(f"SKIPPED: {cause}", file=sys.stderr)
        return 2
    until = time.monotonic() + chosen.seconds
    context = multiprocessing.get_context("forkserver")
    with (
        tempfile.TemporaryDirectory(prefix="keepstep-powerloss-") as name,
        ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool,
    ):
        library = built(Path(name))
        logs = {level: record(library, Path(name), level, ROUNDS) for level in ("normal", "full")}
        control = passes(pool, logs["normal"], chosen.seed, A_PASS, until)
        found = passes(pool, logs["full"], chosen.seed, chosen.states, until)
    return told(found, control)


def told(found: Outcome, control: Outcome) -> int:
    """Print what was found; 0 if it is as promised."""
    for title, outcome in (("full", found), ("normal (control)", control)):
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.states.items()))
        print(f"durability {title}: {outcome.states.total()} states ({kinds})")
        print(f"  lost answered rows: {outcome.losing} states ({outcome.lost} rows); broken: {len(outcome.broken)}")
        for line in outcome.broken[:SHOWN]:
            print(f"  {line}")
    if not control.losing:
        print("FAIL: the control lost nothing, so a loss would not have been seen")
    held = found.losing == 0 and not found.broken and not control.broken and found.states.total() > 0
    print("PASS" if held and control.losing else "FAIL")
    return 0 if held and control.losing else 1


if __name__ == "__main__":
    sys.exit(main())

"""Faults of the disk: `python -m tests.faults [--points N] [--seconds 60] [--seed 0] [WORDS]`, Linux with a C compiler.

A preloaded library counts each call that changes a store's files (write, truncate, sync, unlink; in the database, its
journals and their folder), and at the N-th lets it fail once with EIO, fail from then on with EIO or with ENOSPC, or
kills the process before it, behind it, or in the middle of the write. That is done in front of every verb's scene, a
new file's first use, and a store's life from admission to pause; WORDS chooses scenes. What the process was told is
held against what it left: the invariants hold, what was answered is there, an error out of COMMIT is told as
`CommitUnknown` and the store is served no more by that process, any other error left nothing and the same call passes
once the fault is gone (`StoreFull` too). Exit 0 if all held, 1 if not, 2 where it cannot run.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import anyio

from tests.faults.run import FAULTS, Outcome, play
from tests.faults.scenes import SCENES
from tests.powerloss.run import MEMORY
from tests.powerloss.shim import built, missing

SHOWN = 20


def main() -> int:
    """Play, print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--points", type=int, help="so many faults, however long it takes")
    parser.add_argument("--seconds", type=float, default=60, help="without --points: about so long (default 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("words", nargs="*", help="only scenes whose name has these words")
    chosen = parser.parse_args()
    if (cause := missing()) is not None:
        print(f"SKIPPED: {cause}", file=sys.stderr)
        return 2
    scenes = [scene for scene in SCENES if " ".join(chosen.words) in scene.name]
    if not scenes:
        print(f"no scene has the words {' '.join(chosen.words)!r}", file=sys.stderr)
        return 2
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="keepstep-faults-", dir=place) as name:
        folder = Path(name)

        async def run() -> Outcome:
            limits = {"count": chosen.points, "seconds": chosen.seconds, "seed": chosen.seed}
            return await play(built(folder), folder, scenes, **limits)

        return told(len(scenes), anyio.run(run))


def told(scenes: int, outcome: Outcome) -> int:
    """Print what was found; 0 if it is as promised."""
    print(f"{outcome.played} of {outcome.there.total()} faults in {scenes} scenes")
    for mode in FAULTS:
        words = ", ".join(f"{count} {word}" for word, count in sorted(outcome.went[mode].items()))
        print(f"  {mode.name.lower():14} {outcome.went[mode].total():6}   {words}")
    print(f"broken: {len(outcome.broken)}")
    for line in outcome.broken[:SHOWN]:
        print(f"  {line}")
    held = outcome.played > 0 and not outcome.broken
    print("PASS" if held else "FAIL")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())

"""The mutation drill: breaks each clause of `tests.mutants` in a copy of the project and expects its tests to fail.

python -m tests.mutate [WORDS]     only the clauses that contain these words
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("runtime", "workers", "control", "demos", "tests")
AT_ONCE = 2
FAILED = 1


async def verdict(copy: Path, mutant: Mutant) -> str:
    """`killed`, `SURVIVED`, or why the mutant could not be judged."""
    target = copy / mutant.file
    text = target.read_text("utf-8")
    if text.count(mutant.old) != 1:
        return f"DOES NOT APPLY: {mutant.file} has {text.count(mutant.old)} times {mutant.old!r}"
    target.write_text(text.replace(mutant.old, mutant.new), "utf-8")
    try:
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-p",
            "no:cacheprovider",
            "-k",
            mutant.tests,
            "tests/conformance",
        ]
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        ended = await anyio.run_process(
            words, cwd=copy, check=False, env={**kept, "PYTHONDONTWRITEBYTECODE": "1"}, stderr=None
        )
    finally:
        target.write_text(text, "utf-8")
    if ended.returncode == FAILED:
        return "killed"
    return "SURVIVED" if ended.returncode == 0 else f"NOT JUDGED: exit {ended.returncode}"


def copied(folder: Path) -> Path:
    """A copy of the project to break."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


async def drill(mutants: Sequence[Mutant]) -> int:
    """Judge them all, a line each; how many were not killed."""
    waiting = list(reversed(mutants))
    alive = 0

    async def judge(folder: Path) -> None:
        nonlocal alive
        while waiting:
            mutant = waiting.pop()
            found = await verdict(folder, mutant)
            alive += found != "killed"
            print(f"{found:8}  {mutant.clause}", flush=True)

    with TemporaryDirectory(prefix="keepstep-mutants-") as place:
        folders = [copied(Path(place) / str(number)) for number in range(AT_ONCE)]
        async with anyio.create_task_group() as group:
            for folder in folders:
                group.start_soon(judge, folder)
    print(f"{len(mutants) - alive} of {len(mutants)} broken clauses were noticed")
    return alive


if __name__ == "__main__":
    wanted = " ".join(sys.argv[1:])
    chosen = [mutant for mutant in MUTANTS if wanted in mutant.clause]
    sys.exit(1 if anyio.run(drill, chosen) else 0)

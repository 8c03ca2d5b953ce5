"""The mutation drill: `python -m tests.mutate [WORDS]` (WORDS: only clauses that contain them).

Each clause of `tests.mutants` and `tests.more_mutants` is broken by one small change of the text in a copy of the
project; the tests that are named beside it run there and must fail. They run once in a whole copy first, where they
must pass. Prints clause, change, and the test that noticed. Exit 1 if a change survived, could not be judged, or no
longer applies.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import anyio

from tests.more_mutants import MORE
from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("runtime", "workers", "control", "demos", "tests")
EVERY = (*MUTANTS, *MORE)
PASSED, FAILED = 0, 1
NOTICED = re.compile(r"^FAILED (.+?)(?: - .*)?$", re.MULTILINE)
CHANGE_WIDTH = 60


class Ended(NamedTuple):
    """How a run of pytest ended, and what it printed."""

    code: int
    output: str


async def tested(copy: Path, at: str, tests: str) -> Ended:
    """The named tests, run in a copy until the first failure."""
    options = ["-x", "-rf", "--tb=no", "-p", "no:cacheprovider", "-k", tests, at]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = await anyio.run_process(
        [sys.executable, "-m", "pytest", *options],
        cwd=copy,
        check=False,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return Ended(ended.returncode, (ended.stdout + ended.stderr).decode())


async def killer(copy: Path, mutant: Mutant) -> str:
    """The test that noticed, or SURVIVED, or why it could not be judged."""
    target = copy / mutant.file
    text = target.read_text("utf-8")
    if (found := text.count(mutant.old)) != 1:
        return f"NOT JUDGED: its old text stands {found} times in {mutant.file}, once is expected"
    target.write_text(text.replace(mutant.old, mutant.new), "utf-8")
    try:
        ended = await tested(copy, mutant.at, mutant.tests)
    finally:
        target.write_text(text, "utf-8")
    if ended.code == PASSED:
        return "SURVIVED"
    noticed = NOTICED.search(ended.output)
    if ended.code != FAILED or noticed is None:
        last = "".join(ended.output.strip().splitlines()[-1:])
        return f"NOT JUDGED: no test ran to a failure (exit {ended.code}): {last}"
    return noticed[1].rpartition("/")[2]


async def passing(copy: Path, mutants: Sequence[Mutant]) -> list[str]:
    """What is wrong with the named tests where nothing is broken."""
    wrong = []
    for at in sorted({mutant.at for mutant in mutants}):
        names = sorted({f"({mutant.tests})" for mutant in mutants if mutant.at == at})
        ended = await tested(copy, at, " or ".join(names))
        if ended.code != PASSED:
            wrong.append(f"{at} does not pass where nothing is broken (exit {ended.code}):\n{ended.output}")
    return wrong


def copied(folder: Path) -> Path:
    """A copy of the project to break."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


async def drill(mutants: Sequence[Mutant]) -> int:
    """Break and judge each; how many were not noticed."""
    waiting = list(reversed(mutants))
    width = max(len(mutant.clause) for mutant in mutants)
    alive = 0

    async def judge(folder: Path) -> None:
        nonlocal alive
        while waiting:
            mutant = waiting.pop()
            noticed = await killer(folder, mutant)
            alive += noticed.startswith(("SURVIVED", "NOT JUDGED"))
            print(f"{mutant.clause:{width}}  {change(mutant):{CHANGE_WIDTH}}  {noticed}", flush=True)

    with TemporaryDirectory(prefix="keepstep-mutants-") as place:
        folders = [copied(Path(place) / str(number)) for number in range(os.cpu_count() or 1)]
        if wrong := await passing(folders[0], mutants):
            print("\n".join(wrong), file=sys.stderr)
            return len(mutants)
        print(f"{'clause':{width}}  {'change':{CHANGE_WIDTH}}  noticed by", flush=True)
        async with anyio.create_task_group() as group:
            for folder in folders:
                group.start_soon(judge, folder)
    print(f"{len(mutants) - alive} of {len(mutants)} broken clauses were noticed")
    return alive


def change(mutant: Mutant) -> str:
    """The change on one line, cut."""
    old, new = (" ".join(text.split()) for text in (mutant.old, mutant.new))
    line = f"{Path(mutant.file).name.removesuffix('.sqlite.sql').removesuffix('.py')}: {old} → {new or 'nothing'}"
    return line if len(line) <= CHANGE_WIDTH else line[: CHANGE_WIDTH - 1] + "…"


if __name__ == "__main__":
    wanted = " ".join(sys.argv[1:])
    chosen = [mutant for mutant in EVERY if wanted in mutant.clause]
    if not chosen:
        sys.exit(f"no clause contains {wanted!r}; there are: {', '.join(mutant.clause for mutant in EVERY)}")
    sys.exit(1 if anyio.run(drill, chosen) else 0)

"""`demo`: things to see. The library works on a real folder; the others tell what happens, and leave nothing."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from runtime.cli.exits import Exit, Stop
from runtime.cli.options import Db, actor_name

demo = App(name="demo", help="Things to see: a real folder worked through, and the promises shown one by one.")

DEMOS = {
    "library": "A real folder of files worked through, into a full-text index that can be searched.",
    "agent": "A tool-using agent that waits for a person: deploy, migration and an unknown outcome on its way.",
    "points": "Why a job is pinned to its definition: 11, 13, and the wrong 20.",
    "drain": "The barrier's life: open, draining, paused, and open again.",
    "relay": "Two files, no transaction across them: accepted, duplicate, conflict, gap, unsupported.",
    "fair": "Fairness of turns: a flood in one flow, newcomers, and the wrong choice as a contrast.",
    "crash": "A process ends at a named point (--at): what it leaves, and what happens next.",
    "migrate": "Changing a job's definition by a person's word, and its audit chain.",
    "all": "Every scenario group played afresh; --check compares with what is frozen.",
}


@demo.command(name="list")
def list_() -> None:
    """Which demos there are."""
    for name, text in DEMOS.items():
        print(f"{name:<8} {text}")


@demo.command
async def library(
    folder: Path | None = None,
    /,
    *,
    db: Db = Path("library.db"),
    search: str | None = None,
    definition: Literal["v1", "v2"] = "v1",
    concurrency: int = 32,
) -> int:
    """Work through a real folder of files: read, extract, index; then sum up.

    It can be killed at any moment and started again: it goes on with the rest, and nothing is indexed twice. A second
    run takes up only what is new or changed. With --search an existing library is searched and nothing is worked on.

    Parameters
    ----------
    folder
        What to work through. Default: the source folder of this Python's standard library.
    search
        Words to look for in what is indexed: ranked hits with snippets. A * at a word's end stands for any ending.
    definition
        v1: read, extract, index. v2: one step more, word statistics. Unfinished jobs of the other one go on beside it.
    concurrency
        How many files are worked on at a time.
    """
    import sysconfig

    from rich.console import Console

    from demos.library.run import library as work_through
    from demos.library.run import look_up

    root, file = _real(folder or Path(sysconfig.get_path("stdlib"))), _real(db)
    out = Console(highlight=False, soft_wrap=True)
    err = Console(stderr=True, highlight=False, soft_wrap=True)
    if search is not None and file.exists():
        return await look_up(str(root), str(file), search, out=out, err=err)
    if not root.is_dir():
        raise Stop(f"{root}: is no folder; name one, or leave it out for the standard library's source")
    if concurrency < 1:
        raise Stop(f"--concurrency {concurrency}: at least 1 is expected")
    code = await work_through(str(root), str(file), definition=definition, concurrency=concurrency, out=out, err=err)
    if search is not None:
        await look_up(str(root), str(file), search, out=out, err=err)
    return code


@demo.command
async def agent(
    *,
    db: Db | None = None,
    library: Path = Path("library.db"),
    by_hand: Annotated[bool, Parameter(negative="")] = False,
    approve: str | None = None,
    refuse: str | None = None,
) -> int:
    """A tool-using agent that waits for a person: deploy, migration and an unknown outcome on its way.

    It needs no network: its model is a stub, behind one function where your own client can stand.

    Parameters
    ----------
    db
        Where it keeps its jobs; the story goes on in it after a stop. Default: a temporary folder.
    library
        The index that the agent searches, as `demo library` makes it; a small one is made if it is not there.
    by_hand
        Wait for your own approvals: `--approve JOB` in another terminal, over the same --db.
    approve
        Approve this job in --db, and do nothing else.
    refuse
        Refuse this job in --db, and do nothing else.
    """
    from functools import partial

    from demos.agent.run import say_yes_or_no, tell

    if approve is not None or refuse is not None:
        if db is None or (approve is not None and refuse is not None):
            raise Stop("--approve JOB or --refuse JOB, with the --db that the waiting demo names, is expected")
        job = str(approve or refuse)
        print(await say_yes_or_no(_real(db), job, approved=approve is not None, by=actor_name(None)))
        return Exit.OK
    real = _real(db) if db is not None else None
    await _tell(partial(tell, db=real, library_db=_real(library), by_hand=by_hand))
    return Exit.OK


@demo.command
async def points() -> None:
    """Why a job is pinned to its definition: 11, 13, and the wrong 20."""
    from demos.points import tell

    await _tell(tell)


@demo.command
async def drain() -> None:
    """The barrier's life: open, draining, paused, and open again."""
    from demos.drain import tell

    await _tell(tell)


@demo.command
async def relay() -> None:
    """Two files, no transaction across them: accepted, duplicate, conflict, gap, unsupported."""
    from demos.relay import tell

    await _tell(tell)


@demo.command
async def fair() -> None:
    """Fairness of turns: a flood in one flow, newcomers, and the wrong choice as a contrast."""
    from demos.fair import tell

    await _tell(tell)


@demo.command
async def migrate() -> None:
    """Changing a job's definition by a person's word, and its audit chain."""
    from demos.migrate import tell

    await _tell(tell)


@demo.command
async def crash(
    *, at: str | None = None, list_: Annotated[bool, Parameter(name="--list", negative="")] = False
) -> None:
    """A process ends at a named point in the middle of a verb: what it leaves, and what happens next.

    Parameters
    ----------
    at
        The point, for example commit_step.before_commit (the default).
    list_
        Show every point, by verb.
    """
    from functools import partial

    from demos.crash import DEFAULT, by_verb, split, tell

    if list_:
        for verb, places in by_verb().items():
            print(f"{verb}: {' '.join(places)}")
        return
    split(at or DEFAULT)
    await _tell(partial(tell, at=at or DEFAULT))


@demo.command(name="all")
async def all_(
    *,
    check: Annotated[bool, Parameter(negative="")] = False,
    output: Path | None = None,
    rebaseline: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Play every scenario group of the three documents afresh, in temporary folders with new databases.

    Parameters
    ----------
    check
        Compare field by field with what is frozen; the exit code is 1 if anything differs.
    output
        Write the fresh result into this file; the frozen one is refused.
    rebaseline
        Replace what is frozen by the fresh result.
    """
    from demos import frozen

    if output is not None:
        _check_output(output, frozen.place())
    print(await frozen.versions())
    expected: dict[str, Any] = frozen.frozen()["groups"] if check else {}
    groups: dict[str, Any] = {}
    different = 0
    async for name, found in frozen.played():
        groups[name] = found
        lines = list(frozen.differences(expected.get(name), found, name)) if check else []
        different += bool(lines)
        print(f"{name:<45} {('differs' if lines else 'as frozen') if check else 'played'}", flush=True)
        for line in lines[: frozen.MOST_DIFFERENCES]:
            print(f"    {line}")
        if len(lines) > frozen.MOST_DIFFERENCES:
            print(f"    and {len(lines) - frozen.MOST_DIFFERENCES} more")
    for missing in expected.keys() - groups.keys():
        different += 1
        print(f"{missing}: is frozen, and there is no such group any more")
    if output is not None:
        _write(output, frozen.document(groups))
    if rebaseline:
        _write(frozen.place(), frozen.document(groups))
        print(f"{len(groups)} groups are frozen anew in results.json", file=sys.stderr)
    if check:
        print(f"{len(groups)} groups played, {different} differ from what is frozen")
    return Exit.FAULT if different else Exit.OK


async def _tell(tale: Any) -> None:
    from demos.story import Teller, told

    await told(tale, Teller())


def _real(path: Path) -> Path:
    return path.resolve()


def _check_output(path: Path, kept: Path) -> None:
    """Before minutes are spent: the file can be written, and is not what only `--rebaseline` replaces."""
    if path.exists() and path.samefile(kept):
        raise Stop(f"--output: {path} is the frozen file itself; name another, or replace it with --rebaseline")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise Stop(f"--output: {path} cannot be written: a file in a directory that exists is expected")


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)

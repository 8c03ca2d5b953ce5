"""`bench`: measure on this machine, each figure beside the limit taken in the same run."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from runtime.cli.exits import Exit, Stop

if TYPE_CHECKING:
    from rich.console import Console

    from runtime.bench.figures import Figure
    from runtime.bench.lab import Lab

Which = Literal["all", "quick", "admit", "drain", "steps", "latency", "backlog", "processes", "idle", "size"]


def bench(
    *which: Which,
    output: Annotated[Literal["text", "json"], Parameter(name=("--output", "-o"))] = "text",
    save: Path | None = None,
    plot: Path | None = None,
    runs: int | None = None,
    folder: Path | None = None,
) -> int:
    """Measure on this machine, figures beside limits taken in the same run.

    Every answer waits for its commit and `synchronous=FULL` holds throughout, so the disk under `--folder` is what is
    measured. All of it takes some minutes. `quick` runs each bench, or those that are named with it, once with about a
    tenth of the work and leaves the largest parts out: it shows that they run; its figures say little and are not
    judged.

    ```
    bench drain steps                       5,000 one-step jobs; 1,000 jobs of five steps
    bench quick drain                       does it run here?
    bench admit --runs 5                    each figure 5 times
    bench all --folder . --save here.json   everything, on this folder's disk
    bench processes --plot shares.svg       1 to 8 processes on one file
    ```

    admit: jobs accepted a second; latency: admission to the handler's start; backlog: the rate behind many jobs;
    idle: start, CPU and memory of a process without work; size: bytes of a finished job.

    Parameters
    ----------
    which
        all (the default), quick, or some of admit, drain, steps, latency, backlog, processes, idle, size, also with
        quick.
    output
        What stdout carries: text or json.
    save
        Also write the figures as JSON into this file.
    plot
        Also draw them into this file, SVG or PNG by its name (needs the extra `charts`).
    runs
        How often each figure is taken; the median, the least and the most are shown. Default: 3, for admit, drain and
        steps 9, for quick 1; latency is taken 3 times at most.
    folder
        Where the database files go. Default: a new temporary folder. Everything is removed afterwards.
    """
    from rich.console import Console

    from runtime import loop
    from runtime.bench import ground, page
    from runtime.bench.figures import report
    from runtime.bench.lab import Lab
    from runtime.signals import signals_interrupt

    if runs is not None and runs < 1:
        raise Stop(f"--runs {runs}: at least 1 is expected")
    if plot is not None and plot.suffix.lower() not in (".svg", ".png"):
        raise Stop(f"--plot {plot}: a name that ends in .svg or .png is expected")
    if plot is not None:
        _need_charts()
    _check_places(save, plot, folder)
    quick = "quick" in which
    err = Console(stderr=True, highlight=False)
    out = Console(highlight=False, width=None if Console().is_terminal else 160)
    few, often = (1, 1) if quick else (3, 9)
    with signals_interrupt(), _room(folder) as place:
        lab = Lab(place, runs=runs or few, often=runs or often, quick=quick)
        machine = ground.machine(lab.folder)
        page.heading(machine, err if output == "json" else out)
        figures = loop.run(_measure, which or ("all",), lab, err)
    document = _document(report(figures, machine))
    try:
        # the files first: whoever reads stdout may go away before its end
        _keep(document, figures, save, plot)
    finally:
        if output == "json":
            print(document)
        else:
            page.table(figures, out)
    return 0


async def _measure(which: Sequence[Which], lab: "Lab", err: "Console") -> "list[Figure]":
    from runtime.bench.figures import unjudged
    from runtime.bench.run import run

    figures = []
    async for name, found in run(which, lab):
        err.print(f"[dim]{name}: done[/dim]")
        figures += [unjudged(figure) for figure in found] if lab.quick else found
    return figures


def _check_places(save: Path | None, plot: Path | None, folder: Path | None) -> None:
    """Before minutes are spent: where the results are to go must be there, and must take them."""
    for option, file in (("--save", save), ("--plot", plot)):
        if file is not None:
            _check_file(option, file)
    if save is not None and plot is not None and os.path.realpath(save) == os.path.realpath(plot):
        raise Stop(f"--save and --plot name the same file, {save}: two are expected")
    if folder is not None and not folder.is_dir():
        raise Stop(f"--folder {folder}: a folder that exists is expected; make it first")


def _check_file(option: str, file: Path) -> None:
    """What is there stays as it is, and what is not is not left behind; a pipe or a device is taken as it is."""
    try:
        if file.is_dir() or not file.parent.is_dir():
            raise Stop(f"{option} {file}: a file in a folder that exists is expected")
        target = Path(os.path.realpath(file))
        if target.is_file():
            target.open("ab").close()
        elif not target.exists():
            target.open("xb").close()
            target.unlink()
    except OSError as error:
        raise Stop(f"{option} {file}: cannot be written ({error.strerror}); name another file") from None


@contextmanager
def _room(folder: Path | None) -> Iterator[Path]:
    """A new folder for the database files, removed afterwards."""
    from runtime.bench.ground import is_full

    where = f"--folder {folder}" if folder is not None else "the temporary folder"
    try:
        place = tempfile.TemporaryDirectory(prefix="keepstep-bench-", dir=folder)
    except OSError as error:
        raise Stop(f"{where}: no folder can be made in it ({error.strerror}); name another with --folder") from None
    with place as path:
        try:
            yield Path(path)
        except Exception as error:
            if not is_full(error):
                raise
            text = f"{where}: the disk has no room for what is measured; name another with --folder"
            raise Stop(text, Exit.FAULT) from error


def _document(found: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


def _keep(document: str, figures: "Sequence[Figure]", save: Path | None, plot: Path | None) -> None:
    """Write the files that were asked for; `Stop` names those that could not be written."""
    from runtime.bench import page

    ways: list[tuple[Path | None, Callable[[Path], object]]] = [
        (save, lambda file: file.write_text(document + "\n", encoding="utf-8")),
        (plot, lambda file: page.plot(figures, file)),
    ]
    failed = []
    for file, write in ways:
        try:
            if file is not None:
                write(file)
        except OSError as error:
            failed.append(f"{file}: could not be written ({error.strerror})")
    if failed:
        raise Stop(f"{'; '.join(failed)}; the figures are shown", Exit.FAULT)


def _need_charts() -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise Stop("--plot needs matplotlib: install the extra, `pip install 'keepstep[charts]'`, or leave --plot out")

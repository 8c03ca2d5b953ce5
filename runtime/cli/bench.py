"""`bench`: measure on this machine, each figure beside the limit taken in the same run."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from runtime.cli.exits import Stop

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
    measured. All of it takes some minutes. `quick` runs each bench once with about a tenth of the work and leaves the
    largest parts out: it shows that they run; its figures say little and are not judged.

    ```
    bench drain steps                       5,000 one-step jobs; 1,000 jobs of five steps
    bench admit --runs 5                    each figure 5 times
    bench all --folder . --save here.json   everything, on this folder's disk
    bench processes --plot shares.svg       1 to 8 processes on one file
    ```

    admit: jobs accepted a second; latency: admission to the handler's start; backlog: the rate behind many jobs;
    idle: start, CPU and memory of a process without work; size: bytes of a finished job.

    Parameters
    ----------
    which
        all (the default), quick, or some of admit, drain, steps, latency, backlog, processes, idle, size.
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
    import msgspec
    from rich.console import Console

    from runtime import loop
    from runtime.bench import ground, page
    from runtime.bench.figures import report
    from runtime.bench.lab import Lab

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
    with tempfile.TemporaryDirectory(prefix="keepstep-bench-", dir=folder) as place:
        few, often = (1, 1) if quick else (3, 9)
        lab = Lab(Path(place), runs=runs or few, often=runs or often, quick=quick)
        machine = ground.machine(lab.folder)
        page.heading(machine, err if output == "json" else out)
        figures = loop.run(_measure, which or ("all",), lab, err)
    document = msgspec.json.format(msgspec.json.encode(report(figures, machine)), indent=2)
    # the files first: whoever reads stdout may go away before its end
    if save is not None:
        _write(save, document)
    if plot is not None:
        page.plot(figures, plot)
    if output == "json":
        print(document.decode())
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
    """Before minutes are spent: where the results are to go must be there."""
    for option, file in (("--save", save), ("--plot", plot)):
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise Stop(f"{option} {file}: a file in a folder that exists is expected")
    if folder is not None and not folder.is_dir():
        raise Stop(f"--folder {folder}: a folder that exists is expected; make it first")


def _write(path: Path, document: bytes) -> None:
    path.write_bytes(document + b"\n")


def _need_charts() -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise Stop("--plot needs matplotlib: install the extra, `pip install 'keepstep[charts]'`, or leave --plot out")

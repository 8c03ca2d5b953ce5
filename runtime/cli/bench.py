"""`bench`: measure on this machine, each figure beside the limit taken in the same run."""

import tempfile
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from runtime.cli.exits import Stop

Which = Literal["all", "quick", "admit", "drain", "steps", "latency", "backlog", "processes", "idle", "size"]


async def bench(
    which: Which = "all",
    /,
    *,
    output: Annotated[Literal["text", "json"], Parameter(name=("--output", "-o"))] = "text",
    save: Path | None = None,
    plot: Path | None = None,
    runs: int | None = None,
    folder: Path | None = None,
) -> int:
    """Measure on this machine, each figure beside the limit taken in the same run.

    Every answer waits for its commit and `synchronous=FULL` holds throughout, so the disk under `--folder` is what is
    measured. `quick` does everything with a tenth of the work, once, to show that it runs.

    Parameters
    ----------
    which
        all, quick, or one of admit, drain, steps, latency, backlog, processes, idle, size.
    output
        What stdout carries: text or json.
    save
        Also write the figures as JSON into this file.
    plot
        Also draw them into this file, SVG or PNG by its name (needs the extra `charts`).
    runs
        How often each figure is taken; the median, the least and the most are shown. Default: 3, for quick 1.
    folder
        Where the database files go. Default: a new temporary folder. Everything is removed afterwards.
    """
    import msgspec
    from rich.console import Console

    from runtime.bench import ground, page
    from runtime.bench.figures import report
    from runtime.bench.lab import Lab
    from runtime.bench.run import run

    if runs is not None and runs < 1:
        raise Stop(f"--runs {runs}: at least 1 is expected")
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise Stop(f"--plot {plot}: a name that ends in .svg or .png is expected")
    if plot is not None:
        _need_charts()
    quick = which == "quick"
    err = Console(stderr=True, highlight=False)
    out = Console(highlight=False, width=None if Console().is_terminal else 160)
    figures = []
    with tempfile.TemporaryDirectory(prefix="keepstep-bench-", dir=folder) as place:
        lab = Lab(Path(place), runs=runs or (1 if quick else 3), quick=quick)
        machine = ground.machine(lab.folder)
        page.heading(machine, err if output == "json" else out)
        async for name, found in run(which, lab):
            err.print(f"[dim]{name}: done[/dim]")
            figures += found
    document = msgspec.json.format(msgspec.json.encode(report(figures, machine)), indent=2)
    if output == "json":
        print(document.decode())
    else:
        page.table(figures, out)
    if save is not None:
        _write(save, document)
    if plot is not None:
        page.plot(figures, plot)
    return 0


def _write(path: Path, document: bytes) -> None:
    path.write_bytes(document + b"\n")


def _need_charts() -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise Stop("--plot needs matplotlib: install the extra, `pip install 'keepstep[charts]'`, or leave --plot out")

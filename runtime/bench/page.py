"""Figures as an aligned table and as charts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from runtime.bench.figures import Figure, shown, wish

# from this ratio on a chart is logarithmic: the smallest bar would not be seen
WIDE = 20
# a table of fewer columns would break its words
ROOMY_COLUMNS = 140
MARKS = {True: "[green]yes[/green]", False: "[red]no[/red]", None: ""}


def table(figures: Sequence[Figure], console: Console) -> None:
    """One line a figure: median, least and most of its runs, its limit and the share of it, what is wanted; three short
    ones where the terminal is too narrow for that."""
    if console.width < ROOMY_COLUMNS:
        _paragraphs(figures, console)
        return
    page = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("bench", "what"):
        page.add_column(title, overflow="fold")
    for title in ("median", "min", "max"):
        page.add_column(title, justify="right", no_wrap=True)
    page.add_column("unit", no_wrap=True)
    page.add_column("limit in this run", overflow="fold")
    page.add_column("× limit", justify="right", no_wrap=True)
    page.add_column("wanted", no_wrap=True)
    page.add_column("met", no_wrap=True)
    last = ""
    for figure in figures:
        page.add_row(
            figure.bench if figure.bench != last else "",
            figure.name,
            shown(figure.median),
            shown(min(figure.runs)),
            shown(max(figure.runs)),
            figure.unit,
            _limit(figure),
            f"{figure.share:.2f}" if figure.share is not None else "",
            wish(figure),
            MARKS[figure.met],
        )
        last = figure.bench
    console.print(page)


def _limit(figure: Figure) -> str:
    return f"{shown(figure.limit.value)} {figure.limit.name}" if figure.limit is not None else ""


def _paragraphs(figures: Sequence[Figure], console: Console) -> None:
    for figure in figures:
        mark = f" [dim]met:[/dim] {MARKS[figure.met]}" if figure.met is not None else ""
        console.print(f"[bold]{figure.bench}[/bold] {figure.name}{mark}", highlight=False)
        spread = f"median {shown(figure.median)}, {shown(min(figure.runs))} to {shown(max(figure.runs))}"
        console.print(f"  {spread} {figure.unit}".rstrip(), highlight=False)
        notes = []
        if figure.limit is not None:
            notes.append((f"{figure.share:.2f} × " if figure.share is not None else "limit: ") + _limit(figure))
        if figure.met is not None:
            notes.append(f"wanted: {wish(figure)}")
        if notes:
            console.print(f"  [dim]{'; '.join(notes)}[/dim]", highlight=False)


def heading(machine: Mapping[str, Any], console: Console) -> None:
    """What was measured on."""
    fsync = machine["fsync_ms"]
    console.print(
        f"Python {machine['python']}, {machine['loop']}, SQLite {machine['sqlite']}, {machine['cores']} cores; "
        f"one fsync takes {fsync['p50']:.2f} ms (p99 {fsync['p99']:.2f}), plain sqlite3 commits "
        f"{machine['one_row_commits_per_s']:,.0f} rows/s one by one",
        highlight=False,
        soft_wrap=True,
    )


def plot(figures: Sequence[Figure], path: Path) -> None:
    """A chart for each bench and unit: medians, a line from least to most, the limit as a stroke; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "keepstep"
    from matplotlib import pyplot

    charts: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        charts.setdefault((figure.bench, figure.unit), []).append(figure)
    heights = [0.9 + 0.35 * len(mine) for mine in charts.values()]
    sheet, axes = pyplot.subplots(
        len(charts), 1, figsize=(9, sum(heights)), squeeze=False, height_ratios=heights, layout="constrained"
    )
    for (axis,), ((bench, unit), mine) in zip(axes, charts.items(), strict=True):
        _draw(axis, mine)
        axis.set_title(f"{bench}, {unit}" if unit else bench, loc="left", fontsize=10)
    sheet.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    pyplot.close(sheet)


def _draw(axis: Any, figures: Sequence[Figure]) -> None:
    """One chart; a red stroke is the limit that was taken in the same run."""
    medians = [figure.median for figure in figures]
    least = [figure.median - min(figure.runs) for figure in figures]
    most = [max(figure.runs) - figure.median for figure in figures]
    names = [figure.name for figure in figures]
    axis.barh(names, medians, xerr=[least, most], color="#4c72b0", height=0.6)
    for place, figure in enumerate(figures):
        if figure.limit is not None:
            axis.plot([figure.limit.value], [place], marker="|", markersize=16, markeredgewidth=2, color="#c44e52")
    axis.invert_yaxis()
    axis.margins(x=0.05)
    if min(medians) * WIDE < max(medians):
        axis.set_xscale("log")
    else:
        axis.set_xlim(left=0)

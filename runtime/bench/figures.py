"""A figure: what was measured, in which runs, beside which limit, and what is wanted of it. No I/O."""

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import median
from typing import Any

import msgspec

FORMAT = 2


class Limit(msgspec.Struct, frozen=True):
    """What bounds a figure, taken in the same run: its name and its value in the figure's unit."""

    name: str
    value: float


class Figure(msgspec.Struct, frozen=True):
    """One line of the table. `wanted`: at least that (`at_least`) or less than that, None if nothing is.

    The median is judged, or with `every_run` the worst of the runs; the share of the limit is the median's.
    """

    bench: str
    name: str
    unit: str
    runs: tuple[float, ...]
    limit: Limit | None = None
    wanted: float | None = None
    at_least: bool = True
    share_wanted: float | None = None
    every_run: bool = False

    @property
    def median(self) -> float:
        """The median of the runs."""
        return float(median(self.runs))

    @property
    def share(self) -> float | None:
        """The median as a share of the limit."""
        return self.median / self.limit.value if self.limit is not None and self.limit.value else None

    @property
    def met(self) -> bool | None:
        """Whether what was measured is what is wanted; None if nothing is."""
        verdicts = []
        if self.wanted is not None:
            judged = self.runs if self.every_run else (self.median,)
            verdicts.append(min(judged) >= self.wanted if self.at_least else max(judged) < self.wanted)
        if self.share_wanted is not None and self.share is not None:
            verdicts.append(self.share >= self.share_wanted)
        return all(verdicts) if verdicts else None


def unjudged(figure: Figure) -> Figure:
    """A figure of which nothing is wanted."""
    return msgspec.structs.replace(figure, wanted=None, share_wanted=None)


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which `part` (0 to 1) of the values lie, by the nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, ceil(part * len(ordered)) - 1)]


def shown(value: float) -> str:
    """A value in three or more figures, with thousands set apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.4f}"


def as_data(figure: Figure) -> dict[str, Any]:
    """A figure as JSON shows it."""
    return {
        "bench": figure.bench,
        "name": figure.name,
        "unit": figure.unit,
        "median": figure.median,
        "min": min(figure.runs),
        "max": max(figure.runs),
        "runs": list(figure.runs),
        "limit": None if figure.limit is None else {"name": figure.limit.name, "value": figure.limit.value},
        "share_of_limit": figure.share,
        "wanted": {
            "least": figure.wanted if figure.at_least else None,
            "below": None if figure.at_least else figure.wanted,
            "in_every_run": figure.every_run,
            "share_of_limit": figure.share_wanted,
        },
        "met": figure.met,
    }


def wish(figure: Figure) -> str:
    """What is wanted, in words."""
    parts = []
    if figure.wanted is not None:
        parts.append(f"{'≥' if figure.at_least else '<'} {shown(figure.wanted)}{' in every run' * figure.every_run}")
    if figure.share_wanted is not None:
        parts.append(f"≥ {figure.share_wanted:g} × limit")
    return ", ".join(parts)


def report(figures: Sequence[Figure], machine: Mapping[str, Any]) -> dict[str, Any]:
    """Everything as one JSON document."""
    return {"format": FORMAT, "machine": dict(machine), "figures": [as_data(figure) for figure in figures]}

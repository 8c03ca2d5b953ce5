"""A figure: what was measured, in which runs, beside which limit, and what is wanted of it. No I/O."""

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import median
from typing import Any

import msgspec

FORMAT = 2


class Limit(msgspec.Struct, frozen=True):
    """What bounds a figure, taken in the same run: its name and its values in the figure's unit, one beside each run of
    the figure or any number for all of them."""

    name: str
    runs: tuple[float, ...]

    @property
    def value(self) -> float:
        """The median of its runs."""
        return float(median(self.runs))


class Figure(msgspec.Struct, frozen=True):
    """One line of the table. `wanted`: at least that (`at_least`) or less than that, None if nothing is.

    The median is judged, or with `every_run` the worst of the runs. The share of the limit is the median of what each
    run has of the limit taken beside it: a machine that drifts changes both.
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
    def shares(self) -> tuple[float, ...]:
        """Each run as a share of the limit beside it, or of the limit's median where there is not one for each."""
        if self.limit is None or not all(self.limit.runs):
            return ()
        paired = len(self.limit.runs) == len(self.runs)
        beside = self.limit.runs if paired else (self.limit.value,) * len(self.runs)
        return tuple(run / limit for run, limit in zip(self.runs, beside, strict=True))

    @property
    def share(self) -> float | None:
        """The median of the shares."""
        return float(median(self.shares)) if self.shares else None

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
        "limit": None if figure.limit is None else _limit_as_data(figure.limit),
        "share_of_limit": figure.share,
        "shares_of_limit": list(figure.shares),
        "wanted": {
            "least": figure.wanted if figure.at_least else None,
            "below": None if figure.at_least else figure.wanted,
            "in_every_run": figure.every_run,
            "share_of_limit": figure.share_wanted,
        },
        "met": figure.met,
    }


def _limit_as_data(limit: Limit) -> dict[str, Any]:
    return {"name": limit.name, "value": limit.value, "runs": list(limit.runs)}


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

"""Options that commands share: the file, the output's form, durations, who acts and why."""

import getpass
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def duration_ms(text: str) -> int:
    """Milliseconds behind `250ms`, `30s`, `15m`, `1h30m`, `2d`; `ValueError` says what is expected."""
    parts = DURATION.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise ValueError(f"{text!r} is no duration: a number with ms, s, m, h or d is expected, for example 30s or 15m")
    return round(sum(float(number) * UNITS_MS[unit] for number, unit in parts))


def _duration(_type: Any, tokens: Sequence[Token]) -> int:
    return duration_ms(tokens[0].value)


Db = Annotated[Path, Parameter(name="--db", help="The database file.")]
Format = Literal["text", "json", "jsonl"]
Output = Annotated[Format, Parameter(name=("--output", "-o"), help="What stdout carries: text, json or jsonl.")]
Duration = Annotated[int, Parameter(converter=_duration, n_tokens=1)]
Reason = Annotated[str | None, Parameter(name="--reason", help="Why; it stays in the audit row.")]
Actor = Annotated[str | None, Parameter(name="--as", help="Who acts, for the audit row. Default: your login name.")]
CommandId = Annotated[
    str | None, Parameter(name="--command-id", help="Makes repeating safe: the same id answers the first outcome.")
]


def actor_name(given: str | None) -> str:
    """Who acts: as given, or the login name, or `operator` where there is none."""
    if given:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"

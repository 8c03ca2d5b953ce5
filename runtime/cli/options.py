"""Options that commands share: the file, the output's form, durations, who acts and why."""

import getpass
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token
from cyclopts.validators import Number

from runtime.protocol.canonical import LARGEST_INTEGER
from runtime.protocol.errors import InvalidValue


def duration_ms(text: str) -> int:
    """Milliseconds behind `250ms`, `30s`, `15m`, `1h30m`, `2d`; `InvalidValue` says what is expected."""
    from workers.durations import duration_ms as parsed

    return parsed(text.strip(), "duration")


def _duration(_type: Any, tokens: Sequence[Token]) -> int:
    try:
        return duration_ms(tokens[0].value)
    except InvalidValue:
        text = f"{tokens[0].value!r} is no duration: a number with ms, s, m, h or d is expected, such as 30s or 1h30m"
        raise ValueError(text) from None


Db = Annotated[Path, Parameter(name="--db", help="The database file.")]
Format = Literal["text", "json", "jsonl"]
Output = Annotated[Format, Parameter(name=("--output", "-o"), help="What stdout carries: text, json or jsonl.")]
Duration = Annotated[int, Parameter(converter=_duration, n_tokens=1)]
Some = Parameter(validator=Number(gte=1, lte=1_000_000))
Observed = Parameter(validator=Number(gte=0, lte=LARGEST_INTEGER))
Limit = Annotated[int, Some, Parameter(name="--limit", help="At most so many.")]
Reason = Annotated[str | None, Parameter(name="--reason", help="Why; it stays in the audit row.")]
Actor = Annotated[str | None, Parameter(name="--as", help="Who acts, for the audit row. Default: your login name.")]
CommandId = Annotated[
    str | None,
    Parameter(
        name="--command-id",
        help="Makes repeating safe: the same id and arguments answer the first outcome. Name what you saw too "
        "(--if-version and the like): without it the present state is an argument, and that may have moved on.",
    ),
]


def actor_name(given: str | None) -> str:
    """Who acts: as given, or the login name, or `operator` where there is none."""
    if given:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"

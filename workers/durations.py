"""Durations as people write them, in milliseconds."""

import re

from runtime.protocol.canonical import check_integer
from runtime.protocol.errors import InvalidValue

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
WHOLE = re.compile(rf"(?:{PART.pattern})+")


def duration_ms(value: int | str, place: str) -> int:
    """Milliseconds behind `250ms`, `10s`, `1h30m`, `2d`; an integer is taken as it is (ticks on a logical clock)."""
    if not isinstance(value, str):
        return check_integer(value, place)
    if not WHOLE.fullmatch(value):
        raise InvalidValue(place, f"{value!r} is no duration: write it as '250ms', '10s', '1h30m', or in milliseconds")
    total_ms = sum(float(number) * UNITS_MS[unit] for number, unit in PART.findall(value))
    return check_integer(round(total_ms), place)

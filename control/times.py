"""Times as people read them: with a zone on the wall clock, as ticks on the logical one."""

from datetime import UTC, datetime

from runtime.protocol.records import Record

UNITS_MS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"))


class Clock(Record, frozen=True):
    """A store's clock, `wall` or `logical`, and what it says now."""

    kind: str
    now: int

    def at(self, time: int | None) -> str:
        """A point in time: `2025-03-01T12:00:00.250Z`, or `tick 7`."""
        if time is None:
            return "-"
        if self.kind == "logical":
            return f"tick {time}"
        try:
            moment = datetime.fromtimestamp(time / 1000, UTC)
        except (ValueError, OverflowError, OSError):
            return f"{time} ms"
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def span(self, length: int) -> str:
        """A length of time: `2m 5s`, `250ms`, or `3 ticks`."""
        if self.kind == "logical":
            return f"{length} tick{'' if length == 1 else 's'}"
        if abs(length) < 1000:
            return f"{length}ms"
        rest, parts = abs(length), []
        for size, unit in UNITS_MS:
            count, rest = divmod(rest, size)
            if count:
                parts.append(f"{count}{unit}")
        return ("-" if length < 0 else "") + " ".join(parts[:2])

    def ago(self, time: int | None) -> str:
        """How long ago, or in how long: `3s ago`, `in 2m`."""
        if time is None:
            return "-"
        if time > self.now:
            return f"in {self.span(time - self.now)}"
        return f"{self.span(self.now - time)} ago"

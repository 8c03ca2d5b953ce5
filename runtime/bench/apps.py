"""The apps that the bench runs: as little work in a handler as there can be."""

import time
from typing import Any

from workers import App


async def note(ctx: Any) -> int:
    """Nothing, recorded as 1."""
    return 1


async def stamp(ctx: Any) -> int:
    """Microseconds on the machine's monotonic clock, which all its processes share."""
    return time.monotonic_ns() // 1000


async def ticket(ctx: Any) -> int:
    """The ticket of the claim that this attempt is."""
    return int(ctx.claim.ticket)


one = App("bench-one", abi="bench/1")
one.step(note)
ONE = one.manifest([("note", note)])

foreign = App("bench-foreign", abi="bench/1")
foreign.step(note)
FOREIGN = foreign.manifest([("note", note)])

five = App("bench-five", abi="bench/1")
five.step(note)
FIVE = five.manifest([(f"note-{number}", note) for number in range(1, 6)])

stamped = App("bench-stamped", abi="bench/1")
stamped.step(stamp)
STAMPED = stamped.manifest([("stamp", stamp)])

ticketed = App("bench-ticketed", abi="bench/1")
ticketed.step(ticket)
TICKETED = ticketed.manifest([("ticket", ticket)])

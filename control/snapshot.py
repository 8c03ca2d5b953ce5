"""The status of a store as plain data, format 1, and how fast it moves between two looks."""

from typing import Any

import msgspec

from control.times import Clock
from runtime.protocol.records import Record
from runtime.store.picture import Flight, Picture

FORMAT = 1


class Rates(Record, frozen=True):
    """Per second between two pictures: committed steps, finished jobs, accepted jobs, claims."""

    steps: float
    done: float
    accepted: float
    claims: float


def status(picture: Picture) -> dict[str, Any]:
    """Frozen as `{"format": 1, "taken_at", "mode", "version", "jobs", "file_bytes", …}`; more keys may follow."""
    shot = picture.snapshot
    clock = Clock(picture.clock, shot.taken_at)
    plain: dict[str, Any] = msgspec.to_builtins(shot)
    return {
        "format": FORMAT,
        "taken_at": shot.taken_at,
        "mode": plain["mode"],
        "version": shot.version,
        "jobs": plain["jobs"],
        "file_bytes": shot.file_bytes,
        "taken": clock.at(shot.taken_at),
        "clock": picture.clock,
        "store_id": picture.store_id,
        "pause_when_empty": shot.pause_when_empty,
        "unfinished": unfinished(picture),
        "effects": shot.effects,
        "ticket": shot.ticket,
        "releases": shot.releases,
        "definitions": [
            {**msgspec.to_builtins(cover), "stranded": cover.stranded} for cover in picture.coverage if _shown(cover)
        ],
        "routes": plain["routes"],
        "flows": plain["flows"],
        "flows_named": picture.flows_named,
        "unfinished_in_flows": {"named": picture.unfinished_in_named, "unnamed": picture.unfinished_elsewhere},
        "workers": plain["workers"],
        "inflight": [
            {
                **msgspec.to_builtins(flight),
                "lapsed": lapsed(flight, clock),
                "lease_left": flight.lease_until - clock.now,
            }
            for flight in picture.inflight
        ],
        "quarantined": msgspec.to_builtins(picture.quarantined),
        "limits": {
            "capacity": picture.capacity,
            "flow_capacity": picture.flow_capacity,
            "newcomers": picture.newcomers,
        },
        "acts": msgspec.to_builtins(picture.acts),
    }


def unfinished(picture: Picture) -> int:
    """Every accepted job that is not done."""
    return sum(count for state, count in picture.snapshot.jobs.items() if state != "done")


def lapsed(flight: Flight, clock: Clock) -> bool:
    """Whether the lease of a job in flight is over."""
    return flight.lease_until < clock.now


def rates(before: Picture, after: Picture, seconds: float) -> Rates:
    """How fast the store moved between two pictures."""
    if seconds <= 0:
        return Rates(0.0, 0.0, 0.0, 0.0)
    old, new = before.snapshot, after.snapshot
    return Rates(
        steps=(new.effects - old.effects) / seconds,
        done=(new.jobs["done"] - old.jobs["done"]) / seconds,
        accepted=(sum(new.jobs.values()) - sum(old.jobs.values())) / seconds,
        claims=(new.ticket - old.ticket) / seconds,
    )


def _shown(cover: Any) -> bool:
    return bool(cover.unfinished or cover.workers or cover.revision is not None)

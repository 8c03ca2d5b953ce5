"""What a status page shows: the snapshot, who is in flight where, who is quarantined why; one read transaction."""

import time

from runtime.protocol.records import Audit, Record, Snapshot
from runtime.store.explain import Coverage, coverage_rows
from runtime.store.reads import GONE_AFTER_MS, Reader, Reads, audit_of, photograph


class Flight(Record, frozen=True):
    """A job in flight; times in the store's clock. `worker_alive`: heard of within three seconds."""

    job: str
    workflow: str
    flow: str | None
    step: str
    worker: str
    since: int
    lease_until: int
    attempt: int
    hold: bool
    worker_alive: bool


class Parked(Record, frozen=True):
    """A quarantined job; `since` in the store's clock."""

    job: str
    workflow: str
    flow: str | None
    cursor: int
    since: int
    reason: str


class Picture(Record, frozen=True):
    """A snapshot, the limits that hold, and the lists that go with it, the latest acts first.

    The two sums of unfinished jobs, in named flows and elsewhere, add up to all of them.
    """

    snapshot: Snapshot
    clock: str
    store_id: str
    capacity: int | None
    flow_capacity: int | None
    newcomers: str
    flows_named: int
    unfinished_in_named: int
    unfinished_elsewhere: int
    inflight: tuple[Flight, ...]
    quarantined: tuple[Parked, ...]
    coverage: tuple[Coverage, ...]
    acts: tuple[Audit, ...]


async def picture(
    store: Reads, *, flows: int = 100, inflight: int = 1000, quarantined: int = 100, acts: int = 5
) -> Picture:
    """One photograph; the lists are cut at their limits, the counts never."""
    file_bytes = store.file_bytes()

    def unit(reader: Reader) -> Picture:
        alive_ms = time.time_ns() // 1_000_000 - GONE_AFTER_MS
        flights = reader.rows("picture.flights", {"limit": inflight, "alive_ms": alive_ms})
        parked = reader.rows("picture.parked", {"limit": quarantined})
        control = reader.control()
        named, in_named, elsewhere = reader.rows("picture.flow_sums")[0]
        return Picture(
            snapshot=photograph(reader, flows, file_bytes),
            clock=store.clock,
            store_id=store.store_id,
            capacity=control.capacity,
            flow_capacity=control.flow_capacity,
            newcomers=control.newcomers,
            flows_named=named,
            unfinished_in_named=in_named,
            unfinished_elsewhere=elsewhere,
            inflight=tuple(Flight(*(*row[:8], bool(row[8]), bool(row[9]))) for row in flights),
            quarantined=tuple(Parked(*row) for row in parked),
            coverage=coverage_rows(reader, alive_ms),
            acts=tuple(audit_of(row) for row in reader.rows("look.audit", {"limit": acts})),
        )

    return await store.read(unit)

"""A job's row as people see it."""

from collections.abc import Sequence
from typing import Any

from runtime.protocol.lifecycle import STATES, Definition, Phase
from runtime.protocol.records import JobRecord


def record(row: Sequence[Any], accepted: Definition, current: Definition) -> JobRecord:
    """A record from (key, flow, seq, accepted, definition, binding, state, cursor, generation, attempts, lifetime,
    due, lease, since, worker, reason, admitted_at)."""
    key, flow, seq, _, _, binding, state, cursor, generation, attempts, lifetime = row[:11]
    due, lease, since, worker, reason, admitted_at = row[11:17]
    return JobRecord(
        id=key,
        workflow=accepted.workflow,
        flow=flow,
        seq=seq,
        accepted_digest=accepted.digest,
        current_digest=current.digest,
        binding_revision=binding,
        state=STATES[Phase(state)],
        cursor=cursor,
        generation=generation,
        attempts=attempts,
        lifetime_attempts=lifetime,
        due=due if state == Phase.WAITING else None,
        lease_until=lease if state in (Phase.INFLIGHT, Phase.HELD) else None,
        since=since,
        worker=worker,
        reason=reason,
        admitted_at=admitted_at,
    )

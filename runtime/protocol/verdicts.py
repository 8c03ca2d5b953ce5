"""The exact words that callers see."""

from enum import StrEnum


class Verdict(StrEnum):
    """Every word that a verb answers (contract §2)."""

    REGISTERED = "registered"
    KNOWN = "known"
    SWITCHED = "switched"
    ACCEPTED = "accepted"
    REPLAY = "replay"
    CONFLICT = "conflict"
    CLOSED = "closed"
    FULL = "full"
    ADVANCED = "advanced"
    DONE = "done"
    RETRY = "retry"
    QUARANTINED = "quarantined"
    RELEASED = "released"
    RENEWED = "renewed"
    REDRIVEN = "redriven"
    RECOVERED = "recovered"
    MIGRATED = "migrated"
    DRAINING = "draining"
    PAUSED = "paused"
    OPEN = "open"
    SET = "set"
    UNKNOWN = "unknown"
    STALE = "stale"
    EXPIRED = "expired"
    REFUSED = "refused"
    BUSY = "busy"


class Mode(StrEnum):
    """The barrier's state."""

    OPEN = "open"
    DRAINING = "draining"
    PAUSED = "paused"


class State(StrEnum):
    """A job's state as people see it; a ready job with a due time is waiting for it."""

    READY = "ready"
    INFLIGHT = "inflight"
    QUARANTINED = "quarantined"
    DONE = "done"


class OnLapse(StrEnum):
    """What becomes of a claim whose lease has lapsed (contract §7)."""

    RETRY = "retry"
    HOLD = "hold"

"""A claim on its way: from the settle that brought it to the settle that took its outcome."""

import time

from anyio import CancelScope

from runtime.protocol.ports import Outcome
from runtime.protocol.records import Claim


class Flight:
    """One claim in flight. The scheduler's loop owns it; the keeper's thread reads it and moves `renewed_at`.

    `lost`: its token no longer matches. `stopped`: why the pool cancels it. `quiet`: a refused outcome is no news.
    """

    __slots__ = ("claim", "lost", "outcome", "quiet", "renewed_at", "scope", "stopped")

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.renewed_at = time.monotonic()
        self.scope: CancelScope | None = None
        self.outcome: Outcome | None = None
        self.stopped: str | None = None
        self.lost = False
        self.quiet = False

    def cancel(self) -> None:
        """Cancel its handler, if it has begun."""
        if self.scope is not None:
            self.scope.cancel()


def naming(claim: Claim) -> dict[str, object]:
    """The fields that a log line names a claim by."""
    token = claim.token
    return {
        "job": token.job,
        "flow": claim.flow,
        "workflow": claim.workflow,
        "step": token.cursor,
        "generation": token.generation,
        "attempt": claim.attempt,
        "digest": token.digest,
    }


def words(claim: Claim) -> str:
    """A claim in a line of text."""
    token = claim.token
    flow = f" of flow {claim.flow!r}" if claim.flow is not None else ""
    return f"job {token.job!r}{flow} ({claim.workflow}), step {token.cursor}, generation {token.generation}"

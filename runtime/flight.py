"""A claim on its way: from the settle that brought it to the settle that took its outcome."""

import time

from anyio import CancelScope

from runtime.protocol.ports import Outcome
from runtime.protocol.records import Claim, Worker


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

    @property
    def cancelled(self) -> bool:
        """Whether its handler was cancelled, by its time limit or by us."""
        return self.scope is not None and self.scope.cancel_called

    def cancel(self) -> None:
        """Cancel its handler, if it has begun."""
        if self.scope is not None:
            self.scope.cancel()


def naming(claim: Claim, worker: Worker) -> dict[str, object]:
    """The fields that a log line names a claim by."""
    token = claim.token
    step, op = _step(claim, worker)
    return {
        "job": token.job,
        "flow": claim.flow,
        "workflow": claim.workflow,
        "step": step,
        "handler": op,
        "generation": token.generation,
        "attempt": claim.attempt,
        "digest": token.digest,
    }


def words(claim: Claim, worker: Worker) -> str:
    """A claim and its handler in a line of text."""
    token = claim.token
    step, op = _step(claim, worker)
    flow = f" of flow {claim.flow!r}" if claim.flow is not None else ""
    at = f"step {step!r}, generation {token.generation}"
    return f"handler {op!r} of job {token.job!r}{flow} ({claim.workflow}), {at}"


def _step(claim: Claim, worker: Worker) -> tuple[str | int, str]:
    """The names of a claim's step and handler, as far as the worker declares them."""
    manifest = worker.manifests.get(claim.token.digest)
    if manifest is None:
        return claim.token.cursor, "unknown"
    step = manifest.steps[claim.token.cursor]
    return step.name, step.op

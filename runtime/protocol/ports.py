"""What one room needs of another, and no more.

The host is given a `Runner` (the workers' side) and a `Warden` (the control side); it imports neither of them.
"""

from typing import Protocol

from runtime.protocol.errors import ItemError
from runtime.protocol.records import Callback, Claim, Commit, Record, Worker


class Outcome(Record, frozen=True):
    """What an attempt led to: `commit_step` with a `Commit`; `fail`, `release` or `quarantine` with a `Callback`."""

    verb: str
    item: Commit | Callback


class Scope(Protocol):
    """What an attempt runs in: it is cancelled at `deadline` (seconds, as the event loop counts them), or before."""

    deadline: float

    @property
    def cancel_called(self) -> bool:
        """Whether what runs in it is being cancelled."""


class Runner(Protocol):
    """Runs attempts for the scheduler. The scheduler alone decides when an attempt starts and is cancelled."""

    @property
    def worker(self) -> Worker:
        """The worker's id and what it declares now; a damaged definition drops out of it."""

    async def run(self, claim: Claim, scope: Scope) -> Outcome:
        """One attempt in the scope of its place, whose deadline it moves to the step's time limit. Never raises but
        when it is cancelled, and then only after its handler has ended."""

    def overdue(self, claim: Claim) -> Outcome:
        """The outcome of an attempt that was cancelled by the deadline which `run` has set."""

    def failed(self, claim: Claim, reason: str) -> Outcome:
        """The outcome of an attempt that its place has found at fault."""

    def abandoned(self, claim: Claim, reason: str) -> Outcome:
        """The outcome of an attempt that was cancelled because the pool stops: a release, or under `hold`, once its
        handler has begun, a quarantine."""

    def after(self, claim: Claim, outcome: Outcome, error: ItemError) -> Outcome | None:
        """What follows when the store answered an outcome with an error (a value that cannot be stored, a write that
        failed, a damaged registry)."""


class Warden(Protocol):
    """The control side of a pool: it pauses a drain that asked for it once nothing is unfinished."""

    async def run(self) -> None:
        """Runs until it is cancelled."""

    def look(self) -> None:
        """Something may have changed: look soon."""

    async def end(self) -> None:
        """The pool's last step is committed: look once more. Never raises, never takes long."""

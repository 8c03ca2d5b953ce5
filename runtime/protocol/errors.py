"""The one tree of errors. Outcomes that a caller must handle are verdicts; these are misuse and broken infrastructure.

    KeepstepError
    ├── ItemError                 one item's own fault; stands in its place in a batch, a single raises it
    │   ├── InvalidValue          a value of the wrong type, over a limit, not JSON; names the place
    │   ├── NoRoute               no definition is set for new jobs of that workflow
    │   ├── Undeclared            a worker presented a digest that it does not declare
    │   ├── RegistryDamaged       the registry's bytes differ from the worker's own manifest
    │   ├── WriteFailed           an own write was refused or failed
    │   ├── NotAdmitted           of a write with admissions, one was not accepted: nothing was written
    │   └── NoSuchJob             a job that is waited for does not exist
    ├── ClockBackwards            a logical tick smaller than the stored one; nothing changed
    ├── HandlerMismatch           an app's manifest names what its handlers do not have
    └── StoreError                broken infrastructure; the original error is its cause
        ├── StoreBusy             the turn or the lock was not had within the deadline
        ├── StoreFull             the disk or the file's size limit is full
        ├── CommitUnknown         COMMIT itself failed: the outcome is unknown, look up by identity after reopening
        ├── StoreClosed           the store is closed, or belongs to another process
        ├── UnsafePath            a symlink, not a regular file, foreign owner, writable by others
        ├── ForeignFile           a database of another application, or no database
        └── NewerSchema           written by a newer keepstep; untouched
"""

from typing import Any


class KeepstepError(Exception):
    """Root of every error that this project raises."""


class ItemError(KeepstepError):
    """One item's own fault; its neighbours in the batch are not affected."""


class InvalidValue(ItemError, ValueError):
    """A value that is refused at the door.

    `place` names where it stands (for example `payload.items[3].price`), `expected` what would have been taken.
    """

    def __init__(self, place: str, expected: str) -> None:
        super().__init__(f"{place}: {expected}")
        self.place = place
        self.expected = expected


class NoRoute(ItemError):
    """New jobs of this workflow have no definition yet."""

    def __init__(self, workflow: str) -> None:
        super().__init__(
            f"workflow {workflow!r} has no route: register a definition and switch the workflow to it "
            f"(a worker that declares it does both at its start)"
        )
        self.workflow = workflow


class Undeclared(ItemError):
    """A worker presented a claim of a definition that it does not declare."""

    def __init__(self, worker: str, digest: str) -> None:
        super().__init__(f"worker {worker!r} does not declare definition {digest}: nothing was written")
        self.worker = worker
        self.digest = digest


class RegistryDamaged(ItemError):
    """The stored definition is not what its digest says, or not what the worker holds."""

    def __init__(self, digest: str) -> None:
        super().__init__(
            f"the registry's bytes of definition {digest} differ from that digest's manifest: nothing was written; "
            f"restore the row from a backup before any job of this definition goes on"
        )
        self.digest = digest


class WriteFailed(ItemError):
    """A write that a handler handed over was refused or failed; the effect was not written either."""


class NotAdmitted(ItemError):
    """Own rows and admissions are written together or not at all; `answers` are those of the admissions."""

    def __init__(self, answers: "list[Any]") -> None:
        said = ", ".join(str(getattr(answer, "verdict", answer)) for answer in answers)
        super().__init__(f"nothing was written, since not every job was accepted: {said}")
        self.answers = answers


class NoSuchJob(ItemError):
    """There is no job of that identity."""

    def __init__(self, job: str) -> None:
        super().__init__(f"there is no job {job!r} in this store: admit it first")
        self.job = job


class ClockBackwards(KeepstepError):
    """A logical clock was asked to go back."""

    def __init__(self, tick: int, stored: int) -> None:
        super().__init__(f"tick {tick} is before the stored tick {stored}: a logical clock never goes back")
        self.tick = tick
        self.stored = stored


class HandlerMismatch(KeepstepError):
    """A declared manifest names a handler that the app has not got, or parameters that it does not take."""


class StoreError(KeepstepError):
    """Broken infrastructure; never disguised as a refusal."""


class StoreBusy(StoreError):
    """The turn or the write lock was not had within the deadline; nothing was written."""


class StoreFull(StoreError):
    """The disk, or the file's size limit, is full; nothing was written."""


class CommitUnknown(StoreError):
    """COMMIT itself failed. Whether it happened is known only after reopening, by identity."""


class StoreClosed(StoreError):
    """The store is closed, or was opened by another process."""


class UnsafePath(StoreError):
    """The path is no private regular file."""


class ForeignFile(StoreError):
    """The file is not a keepstep database."""


class NewerSchema(StoreError):
    """The file was written by a newer keepstep; it is left untouched."""

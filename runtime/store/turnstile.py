"""Turns between processes: two file locks give every writer of one file the same share.

A writer takes *queue*, takes *turn*, gives *queue* back, writes, gives *turn* back; so one waits at the turn while the
others wait behind it, and whoever has just given the turn back cannot take it again before them. The kernel frees both
when a process dies. On SQLite before 3.51.3 this is correctness too: a checkpoint must never run while another process
commits.

A wait in the kernel has no deadline, so a lock that is taken is asked for again and again: by the one at the turn as
often as is cheap, by those in the queue the more often the longer they have waited, so that newcomers rarely pass them.

Whoever has written leaves a mark in the turn's file, by which others notice; who has made a checkpoint, another. The
write-ahead file would tell too early: it changes before the disk has it, and what it holds can be read only after that.
"""

import fcntl
import os
import time

from runtime.protocol.errors import StoreBusy

SHORTEST_WAIT_S = 0.000_05
LONGEST_WAIT_S = 0.001
OLD_S = 0.02
MARK_BYTES = 8


class Turnstile:
    """The two locks beside one database file, for one connection of one process."""

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._queue = os.open(f"{path}-queue", flags, 0o600)
        try:
            self._turn = os.open(f"{path}-turn", flags, 0o600)
        except OSError:
            os.close(self._queue)
            raise
        self._given_up = False

    def enter(self, deadline: float) -> None:
        """Wait for the turn until `deadline` (monotonic seconds); `StoreBusy` if it does not come."""
        self._take(self._queue, deadline, LONGEST_WAIT_S)
        try:
            self._take(self._turn, deadline, SHORTEST_WAIT_S)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def give_up(self) -> None:
        """Whoever waits for the turn, in another thread, is told now that it does not come."""
        self._given_up = True

    def mark(self) -> None:
        """Let others notice that somebody wrote."""
        self._note(0)

    def note_checkpoint(self) -> bytes:
        """Let others notice a checkpoint; what `checkpoint_noted` gives until the next one."""
        self._note(MARK_BYTES)
        return self.checkpoint_noted()

    def checkpoint_noted(self) -> bytes:
        """The note of the last checkpoint; nothing if there was none."""
        return os.pread(self._turn, MARK_BYTES, MARK_BYTES)

    def leave(self) -> None:
        """Give the turn back."""
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close both descriptors."""
        os.close(self._queue)
        os.close(self._turn)

    def _note(self, place: int) -> None:
        try:
            os.pwrite(self._turn, time.monotonic_ns().to_bytes(MARK_BYTES, "little"), place)
        except OSError:
            return  # a full disk

    def _take(self, descriptor: int, deadline: float, longest_s: float) -> None:
        begun = 0.0
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                now = time.monotonic()
                if now > deadline or self._given_up:
                    raise StoreBusy(
                        "another process kept its turn at the database longer than the deadline: nothing was written; "
                        "try again, and look for a stopped or hanging process that has the file open"
                    ) from None
                begun = begun or now
                time.sleep(max(longest_s * (1 - (now - begun) / OLD_S), SHORTEST_WAIT_S))
            else:
                return


def mark_of(path: str) -> bytes:
    """The mark that the last turn left at the database `path`; nothing if there was none."""
    try:
        descriptor = os.open(f"{path}-turn", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return b""
    try:
        return os.pread(descriptor, MARK_BYTES, 0)
    finally:
        os.close(descriptor)

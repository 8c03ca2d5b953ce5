"""Turns between processes: two file locks give every writer of one file the same share.

A writer takes *queue*, takes *turn*, gives *queue* back, writes, gives *turn* back; so one waits at the turn while the
others wait behind it, and whoever has just given the turn back cannot take it again before them. The kernel frees both
when a process dies. On SQLite before 3.51.3 this is correctness too: a checkpoint must never run while another process
commits.

Whoever gives the turn back leaves a mark in its file, by which others notice that somebody wrote. The write-ahead file
would tell too early: it changes before the disk has it, and what it holds can be read only after that.
"""

import fcntl
import os
import time
from contextlib import suppress

from runtime.protocol.errors import StoreBusy
from runtime.store.doorman import Doorman

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
        self._doorman: Doorman | None = None

    def enter(self, deadline: float) -> None:
        """Wait for the turn until `deadline` (monotonic seconds); `StoreBusy` if it does not come."""
        # what a thread in line holds would seem free: it stands there with these very files
        if (self._doorman is None or not self._doorman.stands_in_line) and self._take_if_free():
            return
        if self._doorman is None:
            self._doorman = Doorman(self._take, self._give_back, self._close_files)
        if not self._doorman.fetch(max(0.0, deadline - time.monotonic())):
            raise StoreBusy(
                "another process kept its turn at the database longer than the deadline: nothing was written; "
                "try again, and look for a stopped or hanging process that has the file open"
            )

    def leave(self) -> None:
        """Leave a mark and give the turn back."""
        with suppress(OSError):  # a full disk
            os.pwrite(self._turn, time.monotonic_ns().to_bytes(MARK_BYTES, "little"), 0)
        self._give_back()

    def close(self) -> None:
        """Close both files, and with them give back the turn if it is held."""
        if self._doorman is not None:
            self._doorman.close()
        else:
            self._close_files()

    def _take_if_free(self) -> bool:
        try:
            fcntl.flock(self._queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # the place at the turn is kept
            return False
        except BaseException:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
            raise
        fcntl.flock(self._queue, fcntl.LOCK_UN)
        return True

    def _take(self) -> None:
        try:
            fcntl.flock(self._queue, fcntl.LOCK_EX)
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _give_back(self) -> None:
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def _close_files(self) -> None:
        os.close(self._queue)
        os.close(self._turn)


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

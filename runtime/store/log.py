"""The write-ahead file as its writer keeps it: laid out before it is filled, begun anew when it would grow.

A commit that writes over what is there costs the disk half of one that makes the file longer, which has to make the new
length durable as well. So the file gets its ordinary size at once, as soon as more than a little is written.
"""

import os
import sqlite3
from contextlib import suppress

from runtime.store.sqlite import FLAGS, Files
from runtime.store.turnstile import Turnstile

ORDINARY_BYTES = 4 * 1024 * 1024
TRUNCATE_BYTES = 32 * 1024 * 1024
PINNED_STEP_BYTES = 4 * 1024 * 1024
LITTLE_BYTES = 512 * 1024
SPARE_BYTES = 64 * 1024 * 1024
PATIENCE_MS = 20


class Log:
    """The write-ahead file of one writer. `untidy`: the next turn is to tidy, once its answers are given."""

    def __init__(self, files: Files, turnstile: Turnstile, *, deadline_ms: int) -> None:
        self.untidy = False
        self._files = files
        self._turnstile = turnstile
        self._deadline_ms = deadline_ms
        self._checkpoint_bytes = ORDINARY_BYTES
        self._seen = turnstile.checkpoint_noted()
        self._has_room = True
        self._descriptor: int | None = None

    def look(self) -> None:
        """Look at its size, in a turn."""
        size = self._size()
        self.untidy = size > self._checkpoint_bytes or self._is_short(size)

    def tidy(self, raw: sqlite3.Connection) -> None:
        """Lay it out, or begin it anew, or neither if another process was quicker; in a turn, when nobody of this
        process waits for an answer."""
        raw.execute(f"pragma busy_timeout = {PATIENCE_MS}")
        try:
            size = self._size()
            if self._is_short(size):
                self._lay_out(raw)
            elif size > self._checkpoint_bytes:
                self._begin_anew(raw, size)
        finally:
            raw.execute(f"pragma busy_timeout = {self._deadline_ms}")

    def close(self) -> None:
        """Close its descriptor; SQLite has its own, and no lock on this file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _size(self) -> int:
        """Its size, as cheap as can be, since every unit asks. See `Files.wal_bytes`."""
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._files.wal, os.O_RDWR | FLAGS)
            except OSError:
                return self._files.wal_bytes()
        return os.lseek(self._descriptor, 0, os.SEEK_END)

    def _is_short(self, size: int) -> bool:
        return self._has_room and LITTLE_BYTES < size < ORDINARY_BYTES

    def _lay_out(self, raw: sqlite3.Connection) -> None:
        """Zeros behind its end: to SQLite no frame, since a frame's page number is never 0. Only while no other
        connection can append to it or cut it, also one of a program that takes no turns."""
        try:
            raw.execute("begin immediate")
        except sqlite3.Error:
            return
        try:
            if self._is_short(size := self._size()):
                self._has_room = self._lengthen(size)
        finally:
            raw.execute("rollback")

    def _lengthen(self, begun: int) -> bool:
        """Whether there was room; where a disk has little, that is left to those who need it."""
        if self._descriptor is None:
            return False
        try:
            disk = os.fstatvfs(self._descriptor)
            if disk.f_bavail * disk.f_frsize < SPARE_BYTES:
                return False
            while (size := self._size()) < ORDINARY_BYTES:
                os.pwrite(self._descriptor, bytes(ORDINARY_BYTES - size), size)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, begun)
            return False
        return True

    def _begin_anew(self, raw: sqlite3.Connection, size: int) -> None:
        """A checkpoint, by one of the processes that see it grow; where a reader pins it, that is tried later."""
        noted = self._turnstile.checkpoint_noted()
        if noted != self._seen:
            self._seen = noted
            self._checkpoint_bytes = max(size, ORDINARY_BYTES)
            return
        mode = "truncate" if size > TRUNCATE_BYTES else "restart"
        try:
            busy = raw.execute(f"pragma wal_checkpoint({mode})").fetchone()[0]
        except sqlite3.Error:
            busy = 1
        self._checkpoint_bytes = size + PINNED_STEP_BYTES if busy else max(self._size(), ORDINARY_BYTES)
        self._seen = self._turnstile.note_checkpoint()

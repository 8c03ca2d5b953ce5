"""Hears that another process wrote, where the system tells (inotify on Linux); elsewhere the scheduler polls.

Waking fifty times a second to look costs an idle process about one per cent of a core; this costs nothing and tells
sooner. It is a hint only: whoever relies on it looks from time to time as well.
"""

import ctypes
import os
import sys
from collections.abc import Callable

from anyio import Event, wait_readable

IN_MODIFY = 0x2
FLAGS = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)


class Watch:
    """A watch on one file: `arm()`, and `heard` is called once when the file has been written since the last call."""

    def __init__(self, descriptor: int, heard: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._heard = heard
        self._armed = Event()

    @classmethod
    def on(cls, path: str, heard: Callable[[], None]) -> "Watch | None":
        """A watch on `path`, or None where there is no such thing."""
        if not sys.platform.startswith("linux"):
            return None
        try:
            library = ctypes.CDLL(None, use_errno=True)
            descriptor = library.inotify_init1(FLAGS)
            if descriptor < 0:
                return None
            if library.inotify_add_watch(descriptor, os.fsencode(path), IN_MODIFY) < 0:
                os.close(descriptor)
                return None
        except (OSError, AttributeError):
            return None
        return cls(descriptor, heard)

    def arm(self) -> None:
        """Listen from now on; what was written since the last call counts."""
        self._armed.set()

    async def serve(self) -> None:
        """Listen until cancelled."""
        while True:
            await self._armed.wait()
            await wait_readable(self._descriptor)
            os.read(self._descriptor, 65536)
            self._armed = Event()
            self._heard()

    def close(self) -> None:
        """End the watch, once `serve` has ended."""
        os.close(self._descriptor)

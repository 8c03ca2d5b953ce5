"""The way back from the connection's thread to the event loop."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress


class WakeUp:
    """Has an event loop call one function soon, whichever thread asks for it; what was asked for several times before
    the loop came to it may be done once.

    Where there are event descriptors (Linux) one of its own is written and read once each; the loop's own way, which is
    taken elsewhere, makes a handle for each call and empties a pair of sockets by reading until nothing is left.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
        self._loop = loop
        self._function = function
        self._descriptor: int | None = None
        if hasattr(os, "eventfd"):
            with suppress(OSError):  # too many are open: the loop's own way needs none
                self._descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        if self._descriptor is not None:
            loop.add_reader(self._descriptor, self._heard)

    def call(self) -> None:
        """Ask for it, in any thread."""
        if self._descriptor is not None:
            os.eventfd_write(self._descriptor, 1)
            return
        with suppress(RuntimeError):  # the loop was closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._function)

    def close(self) -> None:
        """Free what it holds; on the loop, once no thread asks any more."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)

    def _heard(self) -> None:
        assert self._descriptor is not None
        with suppress(BlockingIOError):
            os.eventfd_read(self._descriptor)
        self._function()

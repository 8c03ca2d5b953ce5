"""A gate at which the handlers of a real process wait for the test: a FIFO whose other end the test holds.

When the test opens the gate they go on. The kernel opens it when the test dies, so no handler is left waiting.
"""

import os
import select
from pathlib import Path

import anyio

LONGEST_WAIT_S = 0.25


class Gate:
    """The test's side: made shut, and open for good once it is opened."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self.path = str(path)
        # for reading too, as the open would otherwise wait for a reader
        self._held = os.open(path, os.O_RDWR)

    def open(self) -> None:
        """Let through whoever waits or comes later."""
        if self._held >= 0:
            os.unlink(self.path)
            os.close(self._held)
            self._held = -1


async def passed(path: str) -> None:
    """A handler's wait: it can be cancelled."""
    try:
        gate = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        await anyio.wait_readable(gate)
    finally:
        os.close(gate)


def blocked(path: str) -> None:
    """A handler's wait that nothing but the gate ends: it keeps its thread, and an event loop on it."""
    gate = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        # Python notes a signal that comes in the instant before a wait begins only when that wait ends
        while not select.select([gate], [], [], LONGEST_WAIT_S)[0]:
            pass
    finally:
        os.close(gate)

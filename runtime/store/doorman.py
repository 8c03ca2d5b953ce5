"""A thread that stands in line for a writer.

The kernel serves those who wait for a file lock in the order they came and wakes the next one at once; but such a wait
has no deadline. So this thread waits there, while the writer waits for this thread with a deadline. A wait that was
given up goes on, since nothing can end it: what it brings is given back at once, or taken by the next call.
"""

import threading
from collections.abc import Callable
from enum import Enum
from queue import SimpleQueue


class State(Enum):
    """What the thread does: nothing, it waits for a caller, or it waits although the caller has gone."""

    IDLE = 0
    WAITED_FOR = 1
    GIVEN_UP = 2


class Doorman:
    """Made with how to wait and how to give back what was waited for. One caller at a time."""

    def __init__(self, wait: Callable[[], None], give_back: Callable[[], None], end: Callable[[], None]) -> None:
        self._wait = wait
        self._give_back = give_back
        self._end = end
        self._state = State.IDLE
        self._mutex = threading.Lock()
        self._asked: SimpleQueue[bool] = SimpleQueue()
        self._came = threading.Lock()
        self._came.acquire()
        self._error: OSError | None = None
        # a program that forgets to close must still be able to end
        self._thread = threading.Thread(target=self._serve, name="keepstep turn", daemon=True)
        self._thread.start()

    @property
    def stands_in_line(self) -> bool:
        """Whether a wait goes on that was given up."""
        with self._mutex:
            return self._state is State.GIVEN_UP

    def fetch(self, timeout_s: float) -> bool:
        """Whether what is waited for came within `timeout_s`; raises what the wait raised."""
        with self._mutex:
            if self._state is State.IDLE:
                self._asked.put(True)
            self._state = State.WAITED_FOR
        if not self._came.acquire(timeout=timeout_s):
            with self._mutex:
                # it may have come in this moment
                if not self._came.acquire(blocking=False):
                    self._state = State.GIVEN_UP
                    return False
        error, self._error = self._error, None
        if error is not None:
            raise error
        return True

    def close(self) -> None:
        """End the thread, which calls `end`; a wait that was given up is not waited for."""
        self._asked.put(False)
        if not self.stands_in_line:
            self._thread.join()

    def _serve(self) -> None:
        while self._asked.get():
            error = None
            try:
                self._wait()
            except OSError as raised:
                error = raised
            with self._mutex:
                if self._state is State.WAITED_FOR:
                    self._error = error
                    self._came.release()
                elif error is None:
                    self._give_back()
                self._state = State.IDLE
        self._end()

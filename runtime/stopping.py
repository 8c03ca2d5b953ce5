"""How a pool ends: who asked, when its handlers are cancelled, when the process is ended whatever they do."""

import time
from collections.abc import Callable


class Stop:
    """A pool's end as it was asked for.

    The first `note` or `ask` lets steps finish for `grace_s`; a second signal cancels at once (`at_once`);
    `hard_limit_s` after the cancellation the process is ended.
    """

    def __init__(self, grace_s: float = 30.0, hard_limit_s: float = 10.0) -> None:
        self.grace_s = grace_s
        self.hard_limit_s = hard_limit_s
        self.asked = 0
        self.at_once = False
        self.cause = ""
        self._cancel_at: float | None = None
        self._listeners: list[Callable[[], None]] = []

    def note(self, cause: str) -> None:
        """Note that the end is asked for, and nothing else: safe in a signal handler."""
        now = time.monotonic()
        self.asked += 1
        if self._cancel_at is None:
            self.cause = cause
            self._cancel_at = now + self.grace_s
        else:
            self.at_once = True
            self._cancel_at = min(self._cancel_at, now)

    def ask(self, cause: str = "asked to stop") -> None:
        """Ask for an orderly end, if nobody has; from any thread."""
        if not self.asked:
            self.note(cause)
        for listener in tuple(self._listeners):
            listener()

    def hurry(self, cause: str) -> None:
        """Ask for the end at once, whether or not an orderly one was asked for; from any thread."""
        if not self.asked:
            self.note(cause)
        self.note(cause)
        for listener in tuple(self._listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` in the thread of each `ask`."""
        self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        self._listeners.remove(listener)

    @property
    def cancel_in_s(self) -> float | None:
        """Seconds until handlers are cancelled; None while nobody has asked."""
        return None if self._cancel_at is None else max(0.0, self._cancel_at - time.monotonic())

    @property
    def overdue(self) -> bool:
        """Whether the hard limit has passed."""
        return self._cancel_at is not None and time.monotonic() > self._cancel_at + self.hard_limit_s

"""TERM and INT ask a pool to stop. They are noted even while a handler blocks the event loop."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from runtime.bell import Bell
from runtime.stopping import Stop

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def signals_ask(stop: Stop, bell: Bell, noted: Callable[[], None]) -> Iterator[None]:
    """While this is entered, each TERM or INT is noted in `stop`, and the loop of `bell` calls `noted`.

    A plain handler is used and not the loop's own: it runs between two bytecodes of whatever blocks the loop, and it
    exists where the loop has none. One call into C that heeds no signal holds it up until it returns, as does a call
    that waits if the signal came in the instant before it. Outside the main thread nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, _frame: FrameType | None) -> None:
        stop.note(signal.Signals(number).name)
        bell.call(noted)

    before: dict[signal.Signals, Any] = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

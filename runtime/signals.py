"""TERM and INT ask a pool to stop. They are noted even while a handler blocks the event loop. What runs no pool is
interrupted by TERM and HUP as it is by INT."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from runtime.bell import Bell
from runtime.stopping import Stop

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LESSER = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)


@contextmanager
def signals_ask(stop: Stop, bell: Bell, noted: Callable[[], None]) -> Iterator[None]:
    """While this is entered, each TERM or INT is noted in `stop`, and the loop of `bell` calls `noted`.

    A plain handler is used and not the loop's own: it runs between two bytecodes of whatever blocks the loop, and it
    exists where the loop has none. One call into C that heeds no signal holds it up until it returns, as does a call
    that waits if the signal came in the instant before it. Outside the main thread nothing is done.
    """

    def note(number: int, _frame: FrameType | None) -> None:
        stop.note(signal.Signals(number).name)
        bell.call(noted)

    with _handling(SIGNALS, note):
        yield


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """While this is entered, the first TERM or HUP does what INT does, so that what was begun is also undone; further
    ones, which would disturb that, do nothing. One that is ignored stays so. Outside the main thread nothing is done.
    """
    asked: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            return
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # a shell has what it starts in the background ignore INT
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    heeded = [number for number in LESSER if signal.getsignal(number) is not signal.SIG_IGN]
    with _handling(heeded, interrupt):
        yield


@contextmanager
def _handling(numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[signal.Signals, Any] = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, signal.SIG_DFL if earlier is None else earlier)

"""TERM and INT ask a pool to stop. They are noted even while a handler blocks the event loop."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from anyio import open_signal_receiver, sleep

from runtime.stopping import Stop

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LOOK_S = 0.1

log = logging.getLogger("keepstep.host")


async def signals_ask(stop: Stop, ring: Callable[[], None]) -> None:
    """Until cancelled: each TERM or INT asks `stop`, then `ring` is called on the loop.

    The loop's own receiver only wakes the loop. The signal itself is noted by a plain handler, which runs between two
    bytecodes of whatever blocks the loop.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    before: dict[signal.Signals, Any] = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        with open_signal_receiver(*SIGNALS) as received, _noting(stop, before):
            ring()
            async for _ in received:
                ring()
    except NotImplementedError:
        log.warning("this event loop takes no signal handlers: signals are looked for every %.1f s", LOOK_S)
        with _noting(stop, before):
            while True:
                await sleep(LOOK_S)
                ring()
    finally:
        _restore(before)


@contextmanager
def _noting(stop: Stop, before: dict[signal.Signals, Any]) -> Iterator[None]:
    def note(number: int, _frame: FrameType | None) -> None:
        stop.note(signal.Signals(number).name)

    for number in SIGNALS:
        signal.signal(number, note)
    try:
        yield
    finally:
        _restore(before)


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)

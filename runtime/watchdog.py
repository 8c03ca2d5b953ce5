"""Watches the event loop from the keeper's thread: which handler blocks it, and the hard limit of a stop."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from runtime.bell import Bell
from runtime.flight import Flight, naming, words
from runtime.places import Places
from runtime.protocol.records import Worker
from runtime.stopping import Stop

BLOCKED_S = 0.5
STILL_BLOCKED_S = 5.0
HARD_LIMIT_EXIT = 143

log = logging.getLogger("keepstep.watchdog")


class Watchdog:
    """Made on the loop's own thread; `tick` is called from the keeper's."""

    def __init__(
        self,
        places: Places,
        worker: Callable[[], Worker],
        bell: Bell,
        stop: Stop,
        *,
        owns_process: bool,
    ) -> None:
        self._places = places
        self._worker = worker
        self._bell = bell
        self._stop = stop
        self._owns_process = owns_process
        self._thread = threading.get_ident()
        self._asked_at: float | None = None
        self._answered_at: float | None = None
        self._culprit = ""
        self._fields: dict[str, object] = {}
        self._said = False
        self._said_stop = 0

    def tick(self) -> None:
        """Look whether the loop still turns, and whether the process is to be ended."""
        if self._owns_process and self._stop.overdue:
            self._end()
        if self._asked_at is None:
            if self._places.flights:
                self._ask()
        elif self._answered_at is not None:
            self._turned(self._answered_at - self._asked_at)
        else:
            self._stands(time.monotonic() - self._asked_at)

    def _ask(self) -> None:
        self._asked_at, self._answered_at = time.monotonic(), None
        self._bell.call(self._answer)

    def _answer(self) -> None:
        self._answered_at = time.monotonic()

    def _turned(self, blocked_s: float) -> None:
        if self._culprit:
            level = logging.INFO if self._said else logging.WARNING
            log.log(level, "%s blocked the event loop for %.1f s", self._culprit, blocked_s, extra=self._fields)
        self._culprit, self._fields, self._said, self._asked_at = "", {}, False, None

    def _stands(self, blocked_s: float) -> None:
        if blocked_s >= BLOCKED_S and not self._culprit:
            self._culprit, self._fields = self._find()
        if self._culprit and self._owns_process and self._stop.asked > self._said_stop:
            self._said_stop = self._stop.asked
            self._stop_stands()
        if blocked_s >= STILL_BLOCKED_S and not self._said:
            self._said = True
            text = "%s has blocked the event loop for %.1f s; declare a handler that blocks as `def`"
            log.warning(text, self._culprit, blocked_s, extra=self._fields)

    def _stop_stands(self) -> None:
        """The stop's own lines come from the loop, which cannot say them now."""
        stop = self._stop
        limit_s = (stop.cancel_in_s or 0.0) + stop.hard_limit_s
        text = "stopping (%s) waits for %s, which blocks the event loop; the hard limit is %.1f s away"
        log.warning(text, stop.cause, self._culprit, limit_s, extra=self._fields)

    def _find(self) -> tuple[str, dict[str, object]]:
        frame = sys._current_frames().get(self._thread)
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "an unknown place"
        flight = _flight_under(frame)
        if flight is None:
            return f"code at {where}", {}
        worker = self._worker()
        return f"{words(flight.claim, worker)} (at {where})", naming(flight.claim, worker)

    def _end(self) -> None:
        worker = self._worker()
        for flight in tuple(self._places.flights):
            why = "did not yield" if flight.outcome is None else "ended, but its outcome could not be written"
            text = "%s %s; its claim lapses with its lease"
            log.error(text, words(flight.claim, worker), why, extra=naming(flight.claim, worker))
        log.error("the hard limit has passed: the process ends with %d", HARD_LIMIT_EXIT)
        logging.shutdown()
        os._exit(HARD_LIMIT_EXIT)


def _flight_under(frame: FrameType | None) -> Flight | None:
    """The flight of the place whose task stands in this frame; None if no place is below it."""
    while frame is not None:
        if frame.f_code is Places._work.__code__:
            flight = frame.f_locals.get("flight")
            return flight if isinstance(flight, Flight) else None
        frame = frame.f_back
    return None

"""What a loop does when its store fails: say it once, go on trying once a second, and give up when it must."""

import logging

from runtime.protocol.errors import CommitUnknown, StoreBusy, StoreClosed, StoreError, StoreFull

PAUSE_S = 1.0
MOST_IN_A_ROW = 10


class Faults:
    """Counts the failures of one loop's store. A full or busy store is waited for without end, other faults not."""

    def __init__(self, log: logging.Logger, doing: str, *, aside: bool = False) -> None:
        """`aside`: a full or busy store is said by another loop of the same process."""
        self._log = log
        self._doing = doing
        self._aside = aside
        self._in_a_row = 0
        self._begun: str | None = None
        self._level = logging.ERROR

    def failed(self, error: BaseException) -> float:
        """Seconds to wait before the next try; raises `error` when trying again cannot help."""
        if isinstance(error, (CommitUnknown, StoreClosed)):
            raise error
        self._in_a_row += 1
        lasting = isinstance(error, (StoreFull, StoreBusy))
        if not lasting and self._in_a_row >= MOST_IN_A_ROW:
            self._log.error("%s failed %d times in a row, giving up: %s", self._doing, self._in_a_row, error)
            raise error
        kind = type(error).__name__
        if kind != self._begun:
            self._begun = kind
            trace = None if isinstance(error, StoreError) else error
            level = logging.DEBUG if lasting and self._aside else logging.ERROR
            self._log.log(level, "%s fails, tried again each second: %s: %s", self._doing, kind, error, exc_info=trace)
            self._level = level
        return PAUSE_S

    def succeeded(self) -> None:
        """The store works; said once after a failure."""
        if self._in_a_row:
            level = logging.DEBUG if self._level == logging.DEBUG else logging.INFO
            self._log.log(level, "%s works again after %d failures", self._doing, self._in_a_row)
            self._in_a_row = 0
            self._begun = None

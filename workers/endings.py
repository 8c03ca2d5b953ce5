"""What a handler may raise to say how its attempt ends. Every other exception fails the attempt."""

from runtime.protocol.errors import InvalidValue
from runtime.protocol.retry import LONGEST_AFTER_MS
from workers.durations import duration_ms


class Retry(Exception):
    """Repeat this step after a wait of your own choice: `raise Retry(after="30s")`.

    `after` is `"30s"`, `"15m"`, or milliseconds, at most 30 days. It uses an attempt of the step's budget.
    """

    def __init__(self, after: int | str, reason: str = "the handler asked for it") -> None:
        self.after_ms = duration_ms(after, "Retry.after")
        if self.after_ms > LONGEST_AFTER_MS:
            raise InvalidValue("Retry.after", f"{after!r} is longer than 30 days, the longest wait")
        self.reason = reason
        super().__init__(reason)


class Quarantine(Exception):
    """Give up at once, since repeating cannot help: `raise Quarantine("the account is closed")`. A person decides."""

    def __init__(self, reason: str = "the handler gave no reason") -> None:
        self.reason = reason
        super().__init__(reason)


class OutcomeUnknown(Exception):
    """Nobody knows whether it happened, and repeating it could do it twice: `raise OutcomeUnknown("no reply")`.

    The job is quarantined until a person has looked.
    """

    def __init__(self, reason: str = "the handler gave no reason") -> None:
        self.reason = reason
        super().__init__(reason)

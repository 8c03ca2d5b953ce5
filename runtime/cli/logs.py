"""Log lines on stderr: text for people, or one JSON object a line."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal

import msgspec

from runtime.cli.output import printable

LogFormat = Literal["text", "json"]
PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, logger, message, its named fields, and the trace of an error."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({name: value for name, value in vars(record).items() if name not in PLAIN})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        try:
            return msgspec.json.encode(line, enc_hook=str).decode()
        except UnicodeEncodeError:
            # an exception's text may hold lone surrogates, which only escapes can carry
            return json.dumps(line, default=str)


class TextLines(logging.Formatter):
    """A record as a line: time, level, message."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the trace of an error below it."""
        text = f"{_time(record)} {record.levelname.lower():<8} {record.getMessage()}"
        return printable(f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text)


def log_to_stderr(form: LogFormat, level: int = logging.INFO) -> None:
    """Send every log line of this process to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""Log lines: text for people, JSON for machines."""

import json
import logging
import sys

from runtime.cli.logs import JsonLines, TextLines


def record(message: str, *, broken: bool = False, **fields: object) -> logging.LogRecord:
    trace = None
    if broken:
        try:
            raise LookupError("no such room")
        except LookupError:
            trace = sys.exc_info()
    made = logging.LogRecord("keepstep.worker", logging.WARNING, "file.py", 1, "%s", (message,), trace)
    made.created = 0.25
    vars(made).update(fields)
    return made


def test_a_json_line_carries_the_fields_that_name_a_claim() -> None:
    line = json.loads(JsonLines().format(record("fail", job="a", flow=None, step="base", generation=3)))
    assert line == {
        "time": "1970-01-01T00:00:00.250Z",
        "level": "warning",
        "logger": "keepstep.worker",
        "message": "fail",
        "job": "a",
        "flow": None,
        "step": "base",
        "generation": 3,
    }


def test_a_json_line_is_one_line_whatever_it_says() -> None:
    text = JsonLines().format(record("two\nlines \ud800", broken=True, job=object()))
    assert "\n" not in text
    assert "LookupError: no such room" in json.loads(text)["trace"]


def test_a_text_line_has_its_time_in_utc_and_the_trace_below() -> None:
    first, *below = TextLines().format(record("fail", broken=True)).splitlines()
    assert first == "1970-01-01T00:00:00.250Z warning  fail"
    assert below[-1] == "LookupError: no such room"


def test_a_text_line_shows_control_characters_and_obeys_none() -> None:
    assert TextLines().format(record("red \x1b[31m, nul \x00\n\tbelow")).endswith("red \\x1b[31m, nul \\x00\n\tbelow")

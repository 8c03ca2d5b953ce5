"""Times as people read them."""

import pytest

from control.times import Clock


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1000, "1s"),
        (61_500, "1m 1s"),
        (3_600_000, "1h"),
        (90_061_000, "1d 1h"),
        (-5000, "-5s"),
    ],
)
def test_spans_have_at_most_two_units(length: int, text: str) -> None:
    assert Clock("wall", 0).span(length) == text


def test_wall_times_carry_their_zone_whatever_the_machines_zone_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    assert Clock("wall", 0).at(1_740_830_400_250) == "2025-03-01T12:00:00.250Z"


def test_logical_times_are_ticks() -> None:
    clock = Clock("logical", 9)
    assert (clock.at(7), clock.span(1), clock.ago(7), clock.ago(12)) == (
        "tick 7",
        "1 tick",
        "2 ticks ago",
        "in 3 ticks",
    )


def test_a_time_beyond_the_calendar_is_shown_as_a_number() -> None:
    assert Clock("wall", 0).at(2**53) == f"{2**53} ms"


def test_no_time_is_a_dash() -> None:
    assert Clock("wall", 0).at(None) == Clock("wall", 0).ago(None) == "-"

"""Backoff: exact for any legal values (contract §7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.protocol.canonical import LARGEST_INTEGER
from runtime.protocol.retry import backoff

ATTEMPTS = st.integers(1, 100_000)
TICKS = st.integers(0, LARGEST_INTEGER)


def test_r18_the_formula_alone_with_base_2_and_ceiling_8() -> None:
    assert [backoff(attempt, 2, 8) for attempt in range(1, 7)] == [2, 4, 8, 8, 8, 8]
    assert backoff(10_000, 2, 8) == 8


def test_c26_ten_thousand_attempts_never_overflow() -> None:
    waits = [backoff(attempt, 1, 300) for attempt in range(1, 10_001)]
    assert waits[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert set(waits[9:]) == {300}


@given(attempt=ATTEMPTS, base=TICKS, more=TICKS)
def test_backoff_is_the_exact_minimum(attempt: int, base: int, more: int) -> None:
    ceiling = min(base + more, LARGEST_INTEGER)
    small = min(attempt, 200)
    assert backoff(small, base, ceiling) == min(ceiling, base * 2 ** (small - 1))
    assert backoff(attempt, base, ceiling) == (0 if base == 0 else min(ceiling, base << min(attempt - 1, 60)))


@given(attempt=ATTEMPTS, base=TICKS, more=TICKS)
def test_backoff_never_falls_and_stays_within_base_and_ceiling(attempt: int, base: int, more: int) -> None:
    ceiling = min(base + more, LARGEST_INTEGER)
    wait, longer = backoff(attempt, base, ceiling), backoff(attempt + 1, base, ceiling)
    assert base <= wait <= longer <= ceiling
    assert type(wait) is int


@pytest.mark.parametrize(
    ("base", "ceiling", "waits"),
    [
        pytest.param(0, 0, [0, 0, 0], id="no-wait-at-all"),
        pytest.param(0, 10, [0, 0, 0], id="base-zero-stays-zero"),
        pytest.param(1, 1, [1, 1, 1], id="ceiling-is-the-base"),
        pytest.param(3, 7, [3, 6, 7], id="ceiling-between-two-powers"),
        pytest.param(LARGEST_INTEGER, LARGEST_INTEGER, [LARGEST_INTEGER] * 3, id="largest-legal"),
        pytest.param(1, LARGEST_INTEGER, [1, 2, 4], id="widest-span"),
    ],
)
def test_backoff_at_the_edges(base: int, ceiling: int, waits: list[int]) -> None:
    assert [backoff(attempt, base, ceiling) for attempt in (1, 2, 3)] == waits

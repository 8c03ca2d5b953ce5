"""What runs no pool is interrupted by the first TERM or HUP as it is by INT, and by no further one."""

import signal
from collections.abc import Iterator

import pytest

from runtime.signals import signals_interrupt


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_first_one_interrupts_and_a_second_does_nothing() -> None:
    with signals_interrupt():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)


def test_it_interrupts_also_where_int_is_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with signals_interrupt(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_one_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with signals_interrupt():
        signal.raise_signal(signal.SIGHUP)


def test_what_handled_them_before_handles_them_again() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    with signals_interrupt():
        pass
    signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGTERM]

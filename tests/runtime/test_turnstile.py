"""Turns at one file: in the order of asking, with a deadline, and never two at once."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

import pytest

from runtime.protocol.errors import StoreBusy
from runtime.store.doorman import Doorman
from runtime.store.turnstile import Turnstile

LONG_S = 20.0


@pytest.fixture
def turnstiles(tmp_path: Path) -> Iterator[Callable[[], Turnstile]]:
    """Makes turnstiles at one path, as connections of several processes would."""
    with ExitStack() as stack:

        def make() -> Turnstile:
            made = Turnstile(str(tmp_path / "app.db"))
            stack.callback(made.close)
            return made

        yield make


def soon(seconds: float = LONG_S) -> float:
    return time.monotonic() + seconds


class Other(threading.Thread):
    """Another writer: waits for its turn, notes it, and gives it back once it is told to."""

    def __init__(self, turnstile: Turnstile, noted: "SimpleQueue[str]", name: str) -> None:
        super().__init__(daemon=True)
        self.turnstile = turnstile
        self.noted = noted
        self.word = name
        self.go = threading.Event()
        self.start()

    def run(self) -> None:
        self.turnstile.enter(soon())
        self.noted.put(self.word)
        self.go.wait(LONG_S)
        self.turnstile.leave()


def in_line(path: Path) -> int:
    """How many stand in line at the two files, as the kernel lists them."""
    numbers = {f":{path.with_name(path.name + suffix).stat().st_ino} " for suffix in ("-queue", "-turn")}
    lines = Path("/proc/locks").read_text().splitlines()
    return sum("->" in line and any(number in line for number in numbers) for line in lines)


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the kernel's list of locks is Linux's own")
def test_turns_come_in_the_order_of_asking(turnstiles: Callable[[], Turnstile], tmp_path: Path) -> None:
    holder, noted = turnstiles(), SimpleQueue[str]()
    holder.enter(soon())
    others = []
    for number in range(6):
        others.append(Other(turnstiles(), noted, str(number)))
        while in_line(tmp_path / "app.db") <= number:
            assert others[-1].is_alive()
    holder.leave()
    order = []
    for other in others:
        order.append(noted.get(timeout=LONG_S))
        assert noted.empty()
        other.go.set()
    assert order == list("012345")
    for other in others:
        other.join()


def test_whoever_gives_the_turn_back_does_not_take_it_again_before_those_who_wait(
    turnstiles: Callable[[], Turnstile], tmp_path: Path
) -> None:
    holder, noted = turnstiles(), SimpleQueue[str]()
    holder.enter(soon())
    other = Other(turnstiles(), noted, "other")
    while in_line(tmp_path / "app.db") < 1:
        assert other.is_alive()
    holder.leave()
    other.go.set()
    holder.enter(soon())
    assert not noted.empty()
    holder.leave()
    other.join()


def test_a_turn_that_does_not_come_is_busy_and_one_that_comes_after_that_is_given_back(
    turnstiles: Callable[[], Turnstile],
) -> None:
    holder, late, third = turnstiles(), turnstiles(), turnstiles()
    holder.enter(soon())
    for _ in range(2):
        with pytest.raises(StoreBusy, match="longer than the deadline"):
            late.enter(soon(0.02))
    holder.leave()
    third.enter(soon())
    third.leave()


def test_a_wait_that_was_given_up_is_taken_up_again_by_the_next_call(turnstiles: Callable[[], Turnstile]) -> None:
    holder, late, third = turnstiles(), turnstiles(), turnstiles()
    holder.enter(soon())
    with pytest.raises(StoreBusy):
        late.enter(soon(0.02))
    again = threading.Thread(target=late.enter, args=(soon(),), daemon=True)
    again.start()
    assert late._doorman is not None
    while late._doorman.stands_in_line:
        assert again.is_alive()
    holder.leave()
    again.join()
    with pytest.raises(StoreBusy):
        third.enter(soon(0.02))
    late.leave()
    third.enter(soon())
    third.leave()


def test_one_who_gave_up_and_is_gone_is_in_nobodys_way(tmp_path: Path) -> None:
    holder, late, third = (Turnstile(str(tmp_path / "app.db")) for _ in range(3))
    holder.enter(soon())
    with pytest.raises(StoreBusy):
        late.enter(soon(0.02))
    late.close()
    holder.leave()
    third.enter(soon())
    for each in (holder, third):
        each.close()


def test_never_two_at_once_however_many_give_up(turnstiles: Callable[[], Turnstile]) -> None:
    inside, most, turns = [0], [0], [0]

    def write(turnstile: Turnstile, patience_s: float) -> None:
        for _ in range(200):
            try:
                turnstile.enter(soon(patience_s))
            except StoreBusy:
                continue
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            turns[0] += 1
            time.monotonic_ns()
            inside[0] -= 1
            turnstile.leave()

    writers = [
        threading.Thread(target=write, args=(turnstiles(), patience_s)) for patience_s in (LONG_S, LONG_S, 0, 0, 0.0005)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert most == [1]
    assert turns[0] >= 400


def test_what_the_wait_raises_is_raised_and_the_thread_serves_on() -> None:
    faults = [OSError("no locks available"), None]

    def wait() -> None:
        fault = faults.pop(0)
        if fault is not None:
            raise fault

    ended: list[bool] = []
    doorman = Doorman(wait, lambda: None, lambda: ended.append(True))
    with pytest.raises(OSError, match="no locks available"):
        doorman.fetch(LONG_S)
    assert doorman.fetch(LONG_S)
    doorman.close()
    assert ended == [True]

"""Turns at one file: with a deadline, never two at once, and who has waited long comes before who has not."""

import fcntl
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from demos.scenarios import gate
from runtime.protocol.errors import StoreBusy
from runtime.store import turnstile as module
from runtime.store.turnstile import LONGEST_WAIT_S, OLD_S, SHORTEST_WAIT_S, Turnstile

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


def is_taken(path: Path) -> bool:
    """Whether somebody holds this lock now."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_whoever_gives_the_turn_back_does_not_take_it_again_before_the_one_who_waits_at_it(
    turnstiles: Callable[[], Turnstile], tmp_path: Path
) -> None:
    holder, other, had_it = turnstiles(), turnstiles(), threading.Event()
    holder.enter(soon())

    def have_a_turn() -> None:
        other.enter(soon())
        had_it.set()
        other.leave()

    thread = threading.Thread(target=have_a_turn)
    thread.start()
    while not is_taken(tmp_path / "app.db-queue"):
        assert thread.is_alive()
    holder.leave()
    holder.enter(soon())
    assert had_it.is_set()
    holder.leave()
    thread.join()


def test_a_turn_that_does_not_come_is_busy_and_nobody_is_left_in_line(turnstiles: Callable[[], Turnstile]) -> None:
    holder, late, third = turnstiles(), turnstiles(), turnstiles()
    holder.enter(soon())
    for _ in range(2):
        with pytest.raises(StoreBusy, match="longer than the deadline"):
            late.enter(soon(0.02))
    holder.leave()
    third.enter(soon(0))
    third.leave()
    late.enter(soon(0))
    late.leave()


def test_a_wait_can_be_ended_by_another_thread(turnstiles: Callable[[], Turnstile]) -> None:
    holder, late, told = turnstiles(), turnstiles(), list[StoreBusy]()
    holder.enter(soon())

    def wait() -> None:
        try:
            late.enter(soon())
        except StoreBusy as error:
            told.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    late.give_up()
    thread.join(LONG_S / 2)
    assert len(told) == 1
    holder.leave()


GIVES_UP = """
import sys, time
from runtime.protocol.errors import StoreBusy
from runtime.store.turnstile import Turnstile

try:
    Turnstile(sys.argv[1]).enter(time.monotonic() + 0.02)
except StoreBusy:
    print("gave up", flush=True)
sys.stdin.read()
"""


def test_a_process_that_gave_up_and_is_stopped_is_in_nobodys_way(
    turnstiles: Callable[[], Turnstile], tmp_path: Path
) -> None:
    holder, third = turnstiles(), turnstiles()
    holder.enter(soon())
    command = [sys.executable, "-c", GIVES_UP, str(tmp_path / "app.db")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=gate.environment()) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"gave up\n"
        child.send_signal(signal.SIGSTOP)
        holder.leave()
        third.enter(soon(0))
        third.leave()
        child.kill()


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


def test_who_waits_long_asks_more_and_more_often_and_the_one_at_the_turn_always(
    turnstiles: Callable[[], Turnstile], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    now = [100.0]

    class Clock:
        """Time that passes by waiting only."""

        @staticmethod
        def monotonic() -> float:
            return now[0]

        @staticmethod
        def sleep(seconds: float) -> None:
            waits.append(seconds)
            now[0] += seconds

    first, second, third = turnstiles(), turnstiles(), turnstiles()
    first.enter(soon())
    monkeypatch.setattr(module, "time", Clock)
    with pytest.raises(StoreBusy):
        second.enter(now[0] + 0.01)
    assert set(waits) == {SHORTEST_WAIT_S}
    fcntl.flock(second._queue, fcntl.LOCK_EX)
    waits.clear()
    with pytest.raises(StoreBusy):
        third.enter(now[0] + 2 * OLD_S)
    assert waits[0] == LONGEST_WAIT_S
    assert waits == sorted(waits, reverse=True)
    assert waits[-1] == SHORTEST_WAIT_S
    assert sum(waits[: waits.index(SHORTEST_WAIT_S)]) == pytest.approx(OLD_S, rel=0.1)

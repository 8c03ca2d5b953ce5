"""What is drawn on a terminal: the live status page, a waiting drain, and how an interrupt ends them."""

import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from control.barrier import Progress
from runtime.cli.output import console
from runtime.cli.page import page
from runtime.cli.waiting import describe
from runtime.protocol.records import Admission
from runtime.store.picture import Picture, picture
from runtime.store.store import Store
from tests.runtime.cli import V1, W1, Cli

ENDS_WITHIN_S = 20


async def some_work(store: Store) -> Picture:
    """A store in which something is in every place, and its picture."""
    await store.admit_many([Admission("points", f"j{number}", 1, f"F{number % 3}") for number in range(30)])
    await store.claim(2, W1)
    await store.quarantine_job("j5", 0, "look at [this]")
    await store.set("capacity", 30, "small")
    return await picture(store)


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.leader, follower = pty.openpty()
        # a shell that put this run into the background had it ignore interrupts, and a child inherits that
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.child = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "runtime", *words],
            stdin=follower,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        self.seen = ""

    def until(self, *words: str) -> None:
        """Read until every word was drawn."""
        while not all(word in self.seen for word in words):
            self.seen += os.read(self.leader, 65536).decode("utf-8", "replace")

    def end(self) -> int:
        """Interrupt it; its exit code. One that does not end is made to say where it stands."""
        self.child.send_signal(signal.SIGINT)
        late = threading.Timer(ENDS_WITHIN_S, self.child.send_signal, [signal.SIGABRT])
        late.start()
        try:
            while True:
                self.seen += os.read(self.leader, 65536).decode("utf-8", "replace")
        except OSError:
            code = self.child.wait(timeout=20)
        late.cancel()
        os.close(self.leader)
        assert code != -signal.SIGABRT, f"it did not end within {ENDS_WITHIN_S} s:\n{self.seen}"
        return code


def test_the_live_page_shows_rates_and_an_interrupt_is_its_ordinary_end(cli: Cli) -> None:
    cli.store(some_work)
    shown = Terminal("status", "--watch", "--every", "50ms", "--db", str(cli.db))
    shown.until("30 unfinished", "steps/s", "quarantined", V1.digest[:12])
    assert shown.end() == 0
    assert "Traceback" not in shown.seen


def test_a_watched_status_elsewhere_is_a_line_for_every_look(cli: Cli) -> None:
    words = [
        sys.executable,
        "-m",
        "runtime",
        "status",
        "--watch",
        "-o",
        "jsonl",
        "--every",
        "10ms",
        "--db",
        str(cli.db),
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert all('"format":1' in child.stdout.readline() for _ in range(3))
        child.terminate()
        child.stdout.read()
        assert child.wait(timeout=20) == 0


def test_a_watched_status_ends_quietly_when_nobody_reads_it_any_more(cli: Cli) -> None:
    watch = ["status", "--watch", "-o", "jsonl", "--every", "10ms", "--db", str(cli.db)]
    words = [sys.executable, "-m", "runtime", *watch]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == ""
        assert child.wait(timeout=20) == 1


def test_an_interrupted_drain_goes_on_and_the_command_says_so(cli: Cli) -> None:
    cli("admit", "points", "a", "--payload", "1", "--flow", "F")
    shown = Terminal("drain", "--wait", "--db", str(cli.db))
    shown.until("1 left", "slowest flow F", "no live worker declares")
    assert shown.end() == 130
    assert "what was begun goes on" in shown.seen
    assert cli("status", "-o", "json").json["mode"] == "draining"


def test_the_page_has_everything_that_an_operator_looks_for(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    taken = cli.store(some_work)
    console().print(page(taken, "app.db"))
    out = capsys.readouterr().out
    for word in (
        "capacity 30 is reached",
        "look at [this]",
        "W1 (gone)",
        "none live",
        "F0",
        "set capacity (capacity none → 30)",
        "quarantine_job j5",
    ):
        assert word in out


def test_a_waiting_drain_names_rate_flow_lease_and_what_needs_a_person(cli: Cli) -> None:
    lines = describe(Progress(1, 30, 5.0, 2.0), cli.store(some_work))
    assert lines[0] == "draining (version 1): 30 left, 5.0/s, about 6s to go"
    assert lines[1] == "slowest flow F0: 10 unfinished"
    assert lines[2].startswith("longest lease j")
    assert "at W1, which is gone, ends in" in lines[2]
    assert lines[3] == "1 quarantined, such as j5: a person must act (`why drain`)"
    assert lines[4] == f"no live worker declares {V1.digest[:12]}: 30 unfinished"


def test_colours_are_for_terminals_only(cli: Cli) -> None:
    cli.store(some_work)
    assert "\x1b" not in cli("status").out
    assert "\x1b" not in cli("jobs", "list").out


@pytest.mark.parametrize("language", ["C", "C.UTF-8"])
def test_any_text_is_listed_under_any_locale(cli: Cli, language: str, tmp_path: Path) -> None:
    cli("admit", "points", "é👩‍👧سلام", "--payload", '"é"')
    environment = {"PATH": os.environ["PATH"], "LANG": language, "LC_ALL": language, "PYTHONIOENCODING": "ascii"}
    for words in (["jobs", "list"], ["why", "drain", "-o", "json"]):
        command = [sys.executable, "-m", "runtime", *words, "--db", str(cli.db)]
        ran = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert b"Traceback" not in ran.stderr

"""The bench as a command: where its results go, what a narrow terminal shows, and what an interrupt leaves behind."""

import errno
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from runtime.bench import children, ground, page, run
from runtime.bench.figures import Figure, Limit
from runtime.bench.lab import Lab
from runtime.bench.resting import BARE_LIFE
from runtime.cli import bench
from tests.runtime.cli import Cli

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.mark.parametrize(("option", "place"), [("--save", "none/x.json"), ("--save", "."), ("--folder", "none")])
def test_a_bench_whose_results_have_no_place_is_refused_before_it_measures(
    empty: Cli, tmp_path: Path, option: str, place: str
) -> None:
    ran = empty.bare("bench", "all", option, str(tmp_path / place))
    assert ran.code == 2
    assert f"{option} {tmp_path / place}: a f" in ran.err
    assert "that exists is expected" in ran.err


def test_a_file_that_cannot_be_written_is_refused_before_it_measures(empty: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.json").symlink_to(tmp_path / "none" / "x.json")
    for name in ("x.json", "x" * 300):
        ran = empty.bare("bench", "all", "--save", str(tmp_path / name))
        assert ran.code == 2
        assert f"--save {tmp_path / name}: cannot be written" in ran.err


def test_a_link_to_a_file_that_is_not_there_yet_stays_a_link(empty: Cli, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real.json")
    ran = empty.bare("bench", "all", "--save", str(link), "--folder", str(tmp_path / "none"))
    assert (ran.code, list(tmp_path.iterdir())) == (2, [link])
    ran = empty.bare("bench", "quick", "size", "--save", str(link))
    assert (ran.code, link.is_symlink()) == (0, True)
    assert b"bytes a finished job" in (tmp_path / "real.json").read_bytes()


def test_a_pipe_takes_the_figures(empty: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    ran = empty.bare("bench", "quick", "size", "--save", str(tmp_path / "pipe"))
    document, _ = reader.communicate()
    assert ran.code == 0
    assert b"bytes a finished job" in document


def test_one_file_for_two_results_is_refused(empty: Cli, tmp_path: Path) -> None:
    ran = empty.bare("bench", "all", "--save", str(tmp_path / "x.svg"), "--plot", str(tmp_path / "x.svg"))
    assert (ran.code, list(tmp_path.iterdir())) == (2, [])


def test_a_file_that_was_there_stays_as_it_is_when_nothing_is_measured(empty: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("earlier")
    ran = empty.bare("bench", "all", "--save", str(tmp_path / "x.json"), "--folder", str(tmp_path / "none"))
    assert (ran.code, (tmp_path / "x.json").read_text()) == (2, "earlier")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file that opens and cannot be filled")
def test_figures_whose_file_could_not_be_written_are_shown(
    empty: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chart = tmp_path / "chart.svg"
    monkeypatch.setattr(page, "plot", lambda figures, path: path.write_text("drawn"))
    monkeypatch.setattr(bench, "_need_charts", lambda: None)
    ran = empty.bare("bench", "quick", "size", "--save", "/dev/full", "--plot", str(chart))
    assert ran.code == 1
    assert "bytes a finished job" in ran.out
    assert "/dev/full: could not be written (No space left on device); the figures are shown" in ran.err
    assert chart.read_text() == "drawn"


def test_a_folder_whose_disk_is_full_is_named(empty: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_room = sqlite3.OperationalError("database or disk is full")
    no_room.sqlite_errorcode = sqlite3.SQLITE_FULL
    errors = [OSError(errno.ENOSPC, "no room"), no_room]

    def full(folder: Path) -> dict[str, object]:
        raise errors.pop()

    monkeypatch.setattr(ground, "machine", full)
    for _ in range(2):
        ran = empty.bare("bench", "size", "--folder", str(tmp_path))
        assert (ran.code, list(tmp_path.iterdir())) == (1, [])
        assert f"--folder {tmp_path}: the disk has no room" in ran.err


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        (["quick", "size"], ["size"]),
        (["size", "admit"], ["admit", "size"]),
        (["quick"], list(run.BENCHES)),
        (["all", "size"], list(run.BENCHES)),
    ],
)
async def test_quick_is_all_of_them_or_those_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: list[run.Which], taken: list[str]
) -> None:
    async def nothing(lab: Lab) -> list[Figure]:
        return []

    for name in run.BENCHES:
        monkeypatch.setitem(run.BENCHES, name, nothing)
    ran = [name async for name, _ in run.run(wanted, Lab(tmp_path, runs=1, quick=True))]
    assert ran == taken


def test_a_narrow_terminal_breaks_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    name = "4 processes: smallest share of the largest"
    figure = Figure("processes", name, "jobs/s", (3.0, 1.0, 2.0), Limit("an even share", (4.0,)), 2.5)
    page.table([figure], Console(width=80))
    narrow = capsys.readouterr().out
    assert f"processes {name} met: no" in narrow
    assert "median 2.00, 1.00 to 3.00 jobs/s" in narrow
    assert "0.50 × 4.00 an even share; wanted: ≥ 2.50" in narrow
    page.table([Figure("idle", "without a limit", "%", (1.0,), wanted=2.0)], Console(width=80))
    assert "  wanted: ≥ 2.00" in capsys.readouterr().out
    page.table([figure], Console(width=160))
    assert len(capsys.readouterr().out.splitlines()) == 2


def working(of: int) -> Iterator[int]:
    """The processes that one has started and that have a database open."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
            files = [os.readlink(link) for link in (place / "fd").iterdir()] if int(parent) == of else []
        except OSError:
            continue
        if any(name.endswith("-wal") for name in files):
            yield int(place.name)


def started(least: int, *words: str) -> tuple["subprocess.Popen[str]", list[int]]:
    """A bench in a session of its own, once so many processes of its own are at work; those."""
    # a shell that put this run into the background had it ignore interrupts, and a child inherits that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    going = subprocess.Popen(
        [sys.executable, "-m", "runtime", "bench", *words], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while len(found := list(working(going.pid))) < least:
        assert going.poll() is None
    return going, found


def test_the_bare_loop_ends_with_whoever_started_it(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", BARE_LIFE, tmp_path / "life.db"], stdin=subprocess.DEVNULL)
    assert ended.returncode == 0


def test_the_benchs_processes_end_at_once_when_something_goes_wrong(tmp_path: Path) -> None:
    (tmp_path / "bench.db").touch(0o600)
    seen: list[children.Child] = []

    def go_wrong() -> None:
        with children.started(1, "one", tmp_path / "bench.db", "drain") as ours:
            seen.extend(ours)
            children.wait_ready(ours)
            raise RuntimeError("something went wrong")

    with pytest.raises(RuntimeError, match="wrong"):
        go_wrong()
    assert [child.process.returncode for child in seen] == [-signal.SIGKILL]


@on_linux
def test_a_bench_that_is_told_twice_to_end_ends_as_if_told_once(tmp_path: Path) -> None:
    going, others = started(2, "idle", "--folder", str(tmp_path))
    going.send_signal(signal.SIGTERM)
    going.send_signal(signal.SIGHUP)
    _, said = going.communicate()
    assert (going.returncode, said, list(tmp_path.iterdir())) == (130, "interrupted\n", [])
    assert not [pid for pid in others if Path(f"/proc/{pid}").exists()]


@on_linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_bench_that_is_told_to_end_leaves_no_process_and_no_file(tmp_path: Path, number: signal.Signals) -> None:
    going, others = started(2, "idle", "--folder", str(tmp_path))
    going.send_signal(number)
    _, said = going.communicate()
    assert (going.returncode, said) == (130, "interrupted\n")
    assert list(tmp_path.iterdir()) == []
    assert not [pid for pid in others if Path(f"/proc/{pid}").exists()]


@on_linux
@pytest.mark.parametrize(("name", "least"), [("processes", 1), ("idle", 2)])
def test_an_interrupt_from_the_terminal_is_the_benchs_and_not_its_childrens(
    tmp_path: Path, name: str, least: int
) -> None:
    going, others = started(least, name, "--folder", str(tmp_path))
    assert going.pid not in [os.getpgid(pid) for pid in others]
    os.killpg(going.pid, signal.SIGINT)
    _, said = going.communicate()
    assert (going.returncode, said) == (130, "interrupted\n")

"""The root: help, usage, exit codes, environment twins; nothing is loaded before it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from runtime.cli.app import COMMANDS, main
from runtime.cli.exits import NEXT, VERDICTS, Exit, Stop, code_of, foreseeable, line_of, worst
from runtime.cli.options import duration_ms
from runtime.protocol.errors import CommitUnknown, InvalidValue, NoRoute, StoreBusy, StoreFull, UnsafePath
from runtime.protocol.records import Answer
from runtime.protocol.verdicts import Verdict
from tests.runtime.cli import Cli


def test_help_names_every_command_and_ends_with_0(empty: Cli) -> None:
    ran = empty.bare("--help")
    assert ran.code == 0
    for _, name, _, text in COMMANDS:
        assert name in ran.out
        assert text in ran.out


def test_help_loads_neither_the_store_nor_a_command() -> None:
    probe = (
        "import sys; from runtime.cli.app import main; main(['--help']); "
        "rooms = ('runtime.store', 'control', 'workers', 'aiosqlite'); "
        "print([n for n in sys.modules if n.startswith(rooms)], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "[]"


@pytest.mark.parametrize("name", [name for _, name, _, _ in COMMANDS])
def test_every_command_has_help_of_its_own(empty: Cli, name: str) -> None:
    ran = empty.bare(name, "--help")
    assert ran.code == 0
    assert f"runtime {name}" in ran.out


def test_the_help_of_drain_says_first_what_drain_means(empty: Cli) -> None:
    said = " ".join(empty.bare("drain", "--help").out.split())
    assert "Close admission, finish everything accepted, then pause; nothing is cancelled or deleted." in said


def test_a_command_that_does_not_exist_is_named_with_a_near_one(empty: Cli) -> None:
    ran = empty.bare("dran")
    assert ran.code == 2
    assert "there is no command 'dran': did you mean 'drain'?" in ran.err


def test_an_option_that_is_missing_is_named_with_its_twin(empty: Cli) -> None:
    ran = empty.bare("status")
    assert ran.code == 2
    assert "--db is expected, or RUNTIME_DB in the environment" in ran.err


def test_an_option_that_does_not_exist_is_named(empty: Cli) -> None:
    ran = empty("status", "--wach")
    assert ran.code == 2
    assert "--wach" in ran.err


def test_a_flag_has_a_twin_in_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME_DB", str(cli.db))
    monkeypatch.setenv("RUNTIME_OUTPUT", "json")
    assert cli.bare("status").json["format"] == 1


def test_a_file_that_is_missing_ends_with_69_and_says_how_to_make_one(empty: Cli) -> None:
    for words in (["status"], ["jobs", "list"], ["why", "drain"], ["drain"], ["doctor"], ["definitions", "list"]):
        ran = empty(*words)
        assert ran.code == 69
        assert str(empty.db) in ran.err
        assert "db init" in ran.err
    assert not empty.db.exists()


def test_a_file_of_another_kind_ends_with_69_and_is_left_alone(empty: Cli) -> None:
    empty.db.write_text("not a database, " * 100)
    empty.db.chmod(0o600)
    before = empty.db.read_bytes()
    assert empty("status").code == 69
    assert empty.db.read_bytes() == before


def test_a_directory_that_is_missing_ends_with_69(empty: Cli, tmp_path: Path) -> None:
    ran = empty.bare("admit", "points", "a", "--payload", "1", "--db", str(tmp_path / "nowhere" / "app.db"))
    assert ran.code == 69
    assert "nowhere" in ran.err


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (Verdict.ACCEPTED, 0),
        (Verdict.REPLAY, 0),
        (Verdict.BUSY, 3),
        (Verdict.STALE, 4),
        (Verdict.CONFLICT, 4),
        (Verdict.REFUSED, 5),
        (Verdict.CLOSED, 5),
        (Verdict.FULL, 5),
        (Verdict.UNKNOWN, 5),
    ],
)
def test_a_verdict_has_one_exit_code(verdict: Verdict, code: int) -> None:
    assert code_of(Answer(verdict)) == code
    assert set(VERDICTS) <= set(Verdict)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidValue("payload", "x"), 2),
        (NoRoute("points"), 2),
        (Stop("usage"), 2),
        (UnsafePath("x"), 69),
        (StoreBusy("x"), 69),
        (StoreFull("x"), 69),
        (CommitUnknown("x"), 69),
        (RuntimeError("x"), 1),
    ],
)
def test_an_error_has_one_exit_code(error: Exception, code: int) -> None:
    assert code_of(error) == code


def test_a_batch_ends_with_the_highest_code_of_its_items() -> None:
    assert worst([Answer(Verdict.ACCEPTED), Answer(Verdict.FULL), Answer(Verdict.STALE)]) == 5
    assert worst([]) == Exit.OK


def test_a_foreseeable_error_is_one_line_that_says_what_to_do_next() -> None:
    for kind, advice in NEXT:
        line = line_of(kind("what\nhappened"))
        assert "\n" not in line
        assert "what" in line
        assert advice in line
        assert "\n" not in line


def test_an_error_in_a_group_is_found_and_a_defect_is_not_hidden() -> None:
    known, defect = UnsafePath("x"), KeyError("x")
    assert foreseeable(ExceptionGroup("tasks", [known])) is known
    assert foreseeable(ExceptionGroup("tasks", [known, defect])) is None


@pytest.mark.parametrize(
    ("text", "ms"), [("250ms", 250), ("30s", 30_000), ("15m", 900_000), ("1h30m", 5_400_000), ("0.5s", 500)]
)
def test_durations_are_written_with_their_unit(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["30", "x", "-1s", "", "1 s 2"])
def test_what_is_no_duration_is_refused(cli: Cli, text: str) -> None:
    ran = cli("drain", "--wait", f"--timeout={text}")
    assert ran.code == 2
    assert "duration" in ran.err or "expected" in ran.err


def test_the_version_is_the_distributions(empty: Cli) -> None:
    ran = empty.bare("--version")
    assert ran.code == 0
    assert ran.out.strip()


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("runtime.store.store.Store.open", interrupted)
    assert main(["status", "--db", str(cli.db)]) == 130


def test_a_closed_pipe_is_no_traceback(cli: Cli) -> None:
    command = f"'{sys.executable}' -m runtime jobs list --help | true"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk without room")
@pytest.mark.parametrize("words", [["demo", "list"], ["--help"], ["--version"]])
def test_what_a_full_disk_does_not_take_is_a_line_and_exit_code_1(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([sys.executable, "-m", "runtime", *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: what was to be printed could not be written")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [["demo", "list"], ["--help"], ["nothing"]])
def test_a_command_without_stdout_and_stderr_runs(words: list[str]) -> None:
    shell = ["sh", "-c", 'exec "$0" -m runtime "$@" >&- 2>&-', sys.executable, *words]
    assert subprocess.run(shell).returncode == (2 if words == ["nothing"] else 0)

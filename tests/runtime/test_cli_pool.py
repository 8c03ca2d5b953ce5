"""The command line beside a real pool: coverage, a drain that is waited for, and one that is resumed meanwhile."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime.cli import Cli
from tests.runtime.gate import Gate

APP = """
from tests.runtime import gate
from workers import App, step

app = App("naps", abi="naps/1")


@app.step
async def nap(ctx) -> int:
    await gate.passed(ctx.payload["waits at"])
    return 1


V1 = app.manifest([step("nap", nap, lease="1s")], current=True)
"""


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """Where every job waits until the test opens it."""
    made = Gate(tmp_path / "gate")
    yield made
    made.open()


@pytest.fixture
def pool(empty: Cli, gate: Gate, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A pool that serves the command line's file."""
    (tmp_path / "naps_app.py").write_text(APP)
    words = [sys.executable, "-m", "runtime", "work", "naps_app:app", "--db", str(empty.db)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(tmp_path)])}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline().startswith("ready")
            yield child
            gate.open()
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
            child.communicate(timeout=30)
        finally:
            child.kill()


@contextmanager
def draining(db: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A `drain --wait` that has shut the door and waits."""
    words = [sys.executable, "-m", "runtime", "drain", "--wait", *options, "--db", str(db)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        try:
            assert waiting.stderr is not None
            while "draining (version 1)" not in waiting.stderr.readline():
                assert waiting.poll() is None
            yield waiting
        finally:
            waiting.kill()


@pytest.mark.usefixtures("pool")
def test_a_live_pool_covers_its_definition_and_a_switch_to_it_needs_no_warning(empty: Cli) -> None:
    (listed,) = empty("definitions", "list", "-o", "json").json
    assert (listed["workflow"], listed["revision"], len(listed["workers"])) == ("naps", 1, 1)
    switched = empty("definitions", "switch", listed["digest"][:8], "--require-coverage")
    assert switched.code == 0
    assert "warning" not in switched.err
    (worker,) = empty("status", "-o", "json").json["workers"]
    assert worker["live"]
    assert empty("doctor").code == 0


@pytest.mark.usefixtures("pool")
def test_a_drain_lets_everything_accepted_finish_and_resume_opens_it_again(empty: Cli, gate: Gate) -> None:
    payload = json.dumps({"waits at": gate.path})
    for number in range(8):
        assert empty("admit", "naps", f"j{number}", "--payload", payload, "--flow", "F").code == 0
    with draining(empty.db, "--timeout", "30s") as waiting:
        gate.open()
        out, err = waiting.communicate(timeout=30)
        assert waiting.returncode == 0, err
    assert "paused at version 2: nothing is unfinished" in out
    assert empty("status", "-o", "json").json["jobs"]["done"] == 8
    assert empty("admit", "naps", "late", "--payload", payload).code == 5
    assert empty("resume").code == 0
    assert empty("admit", "naps", "late", "--payload", payload).code == 0
    assert empty("drain", "--wait", "--timeout", "30s").code == 0


def test_a_drain_that_somebody_resumes_ends_with_4(empty: Cli, gate: Gate, pool: subprocess.Popen[str]) -> None:
    assert empty("admit", "naps", "long", "--payload", json.dumps({"waits at": gate.path})).code == 0
    with draining(empty.db) as waiting:
        assert empty("resume").code == 0
        out, err = waiting.communicate(timeout=30)
        assert waiting.returncode == 4, err
        assert "resumed meanwhile" in out
    recovered = empty("recover", "long", "--live", "--reason", "naps too long")
    assert recovered.code == 0
    pool.send_signal(signal.SIGINT)
    pool.send_signal(signal.SIGINT)

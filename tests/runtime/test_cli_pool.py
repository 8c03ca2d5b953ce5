"""The command line beside a real pool: coverage, a drain that is waited for, and one that is resumed meanwhile."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.cli import Cli

APP = """
import anyio
from workers import App, step

app = App("naps", abi="naps/1")


@app.step
async def nap(ctx) -> int:
    await anyio.sleep(ctx.payload["s"])
    return 1


V1 = app.manifest([step("nap", nap, lease="1s")], current=True)
"""


@pytest.fixture
def pool(empty: Cli, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A pool that serves the command line's file."""
    (tmp_path / "naps_app.py").write_text(APP)
    words = [sys.executable, "-m", "runtime", "work", "naps_app:app", "--db", str(empty.db)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(tmp_path)])}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith("ready")
        yield child
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        child.communicate(timeout=30)


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
def test_a_drain_lets_everything_accepted_finish_and_resume_opens_it_again(empty: Cli) -> None:
    for number in range(8):
        assert empty("admit", "naps", f"j{number}", "--payload", '{"s": 0.2}', "--flow", "F").code == 0
    drained = empty("drain", "--wait", "--timeout", "30s")
    assert drained.code == 0
    assert "paused at version 2: nothing is unfinished" in drained.out
    assert empty("status", "-o", "json").json["jobs"]["done"] == 8
    assert empty("admit", "naps", "late", "--payload", '{"s": 0}').code == 5
    assert empty("resume").code == 0
    assert empty("admit", "naps", "late", "--payload", '{"s": 0}').code == 0
    assert empty("drain", "--wait", "--timeout", "30s").code == 0


def test_a_drain_that_somebody_resumes_ends_with_4(empty: Cli, pool: subprocess.Popen[str]) -> None:
    assert empty("admit", "naps", "long", "--payload", '{"s": 3600}').code == 0
    words = [sys.executable, "-m", "runtime", "drain", "--wait", "--db", str(empty.db)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        while "draining (version 1)" not in waiting.stderr.readline():
            assert waiting.poll() is None
        assert empty("resume").code == 0
        out, err = waiting.communicate(timeout=30)
        assert waiting.returncode == 4, err
        assert "resumed meanwhile" in out
    recovered = empty("recover", "long", "--live", "--reason", "naps too long")
    assert recovered.code == 0
    pool.send_signal(signal.SIGINT)
    pool.send_signal(signal.SIGINT)

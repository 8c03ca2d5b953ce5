"""`work` as a person runs it: real processes and real signals."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.embed import connect
from runtime.protocol.records import JobRecord
from runtime.protocol.verdicts import State
from tests.runtime.gate import Gate

pytestmark = pytest.mark.anyio

APP = '''
from tests.runtime import gate
from workers import App, step

app = App("naps", abi="local/1")


@app.step
async def nap(ctx):
    print("started", ctx.job, flush=True)
    if "keeps the loop at" in ctx.payload:
        gate.blocked(ctx.payload["keeps the loop at"])
    if "waits at" in ctx.payload:
        await gate.passed(ctx.payload["waits at"])
    return "rested"


app.manifest([step("nap", nap, lease="2s")])
'''


class Pool:
    """A `work` process; its stdout is read line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def line(self, begins: str) -> str:
        """The next line that begins so."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(begins):
                return line.strip()
        raise AssertionError(f"stdout ended before a line that begins with {begins!r}: {self.rest()}")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        return self.process.wait(30)

    def told(self, part: str) -> str:
        """The next line of stderr that has this in it."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if part in line:
                return line.strip()
        raise AssertionError(f"stderr ended before a line with {part!r}")

    def rest(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "naps.py").write_text(APP)
    return tmp_path


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """Shut until the test opens it; no handler waits there any more when the test is over."""
    made = Gate(tmp_path / "gate")
    yield made
    made.open()


@contextmanager
def working(folder: Path, *options: str) -> Iterator[Pool]:
    root = Path(__file__).parents[2]
    paths = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime", "work", "naps:app", "--db", "app.db", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Pool(process)
        finally:
            process.kill()


async def admit(folder: Path, job: str, payload: Mapping[str, str]) -> None:
    async with connect(folder / "app.db") as store:
        await store.admit("naps", job, payload)


def waiting(gate: Gate) -> Mapping[str, str]:
    """The payload of a job that waits at the gate, and can be cancelled."""
    return {"waits at": gate.path}


def blocking(gate: Gate) -> Mapping[str, str]:
    """The payload of a job that keeps the event loop until the gate is open."""
    return {"keeps the loop at": gate.path}


async def found(folder: Path, job: str) -> JobRecord:
    async with connect(folder / "app.db", create=False) as store:
        record = await store.job(job)
    assert record is not None
    return record


def prepare(folder: Path) -> None:
    """Register the app's manifest and set its route."""
    with working(folder, "--until-idle") as pool:
        assert pool.end() == 0, pool.rest()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_lets_a_step_finish_and_ends_with_0(
    folder: Path, gate: Gate, number: signal.Signals
) -> None:
    prepare(folder)
    await admit(folder, "a", waiting(gate))
    with working(folder) as pool:
        pool.line("ready ")
        pool.line("started a")
        pool.signal(number)
        assert f"stopping ({number.name}): no more claims, 1 steps in flight" in pool.told("stopping")
        gate.open()
        assert pool.end() == 0
    assert (await found(folder, "a")).state is State.DONE


async def test_the_second_signal_cancels_at_once_and_the_job_is_handed_back(folder: Path, gate: Gate) -> None:
    prepare(folder)
    await admit(folder, "a", waiting(gate))
    with working(folder) as pool:
        pool.line("started a")
        pool.signal(signal.SIGINT)
        assert pool.process.stderr is not None
        assert "stopping (SIGINT)" in pool.process.stderr.readline()
        pool.signal(signal.SIGINT)
        assert pool.end() == 130
    job = await found(folder, "a")
    assert (job.state, job.attempts, job.generation) == (State.READY, 0, 1)


async def test_a_second_signal_right_behind_the_first_reaches_every_process(folder: Path, gate: Gate) -> None:
    prepare(folder)
    with working(folder, "--processes", "2") as pool:
        pool.line("ready ")
        await admit(folder, "a", waiting(gate))
        pool.line("started a")
        pool.signal(signal.SIGTERM)
        pool.told("stopping 2 worker processes")
        pool.signal(signal.SIGTERM)
        assert pool.process.wait(15) == 130
    job = await found(folder, "a")
    assert (job.state, job.attempts) == (State.READY, 0)


async def test_the_hard_limit_ends_a_process_whose_handler_blocks_and_names_it(folder: Path, gate: Gate) -> None:
    prepare(folder)
    await admit(folder, "a", blocking(gate))
    with working(folder, "--grace", "200ms", "--hard-limit", "300ms") as pool:
        pool.line("started a")
        pool.signal(signal.SIGTERM)
        assert pool.end() == 143
        assert "handler 'nap' of job 'a' (naps), step 'nap', generation 1 did not yield" in pool.rest()


@pytest.mark.parametrize("processes", ["1", "2"])
async def test_the_hard_limit_tells_more_than_a_second_signal(folder: Path, gate: Gate, processes: str) -> None:
    prepare(folder)
    await admit(folder, "a", blocking(gate))
    with working(folder, "--processes", processes, "--hard-limit", "1s") as pool:
        pool.line("started a")
        pool.signal(signal.SIGTERM)
        pool.told("waits for handler 'nap'")
        pool.signal(signal.SIGTERM)
        assert pool.end() == 143


async def test_a_stop_says_which_handler_keeps_the_event_loop(folder: Path, gate: Gate) -> None:
    prepare(folder)
    await admit(folder, "a", blocking(gate))
    with working(folder, "--grace", "1s", "--hard-limit", "2s") as pool:
        pool.line("started a")
        pool.signal(signal.SIGTERM)
        assert pool.process.stderr is not None
        said = pool.process.stderr.readline()
        assert "stopping (SIGTERM) waits for handler 'nap' of job 'a' (naps), step 'nap', generation 1" in said
        assert "which blocks the event loop; the hard limit is" in said
        assert pool.end() == 143


async def test_a_drain_that_is_not_done_in_time_ends_with_3_and_names_what_is_left(folder: Path, gate: Gate) -> None:
    prepare(folder)
    await admit(folder, "a", waiting(gate))
    with working(folder, "--drain", "--timeout", "500ms", "--grace", "0s") as pool:
        assert pool.end() == 3
        told = pool.rest()
    assert "still draining at its deadline: 1 unfinished" in told
    assert "a: step nap leased by" in told


async def test_wrong_settings_are_one_line_and_exit_2(folder: Path) -> None:
    for options in (["--timeout", "1s"], ["--concurrency", "0"], ["--poll", "2h"]):
        with working(folder, *options) as pool:
            assert pool.end() == 2
            assert len(pool.rest().splitlines()) == 1


async def test_drain_works_everything_off_pauses_and_ends_with_0(folder: Path) -> None:
    prepare(folder)
    await admit(folder, "a", {})
    with working(folder, "--drain") as pool:
        assert pool.end() == 0
    async with connect(folder / "app.db") as store:
        assert (await store.control()).mode == "paused"
    assert (await found(folder, "a")).state is State.DONE


async def test_drain_that_is_not_through_by_its_timeout_ends_with_3(folder: Path, gate: Gate) -> None:
    prepare(folder)
    await admit(folder, "a", waiting(gate))
    with working(folder, "--drain", "--timeout", "300ms", "--grace", "0s") as pool:
        assert pool.end() == 3
    async with connect(folder / "app.db") as store:
        assert (await store.control()).mode == "draining"


async def test_a_killed_process_of_several_is_replaced_and_the_stop_ends_with_0(folder: Path) -> None:
    with working(folder, "--processes", "2") as pool:
        pool.line("ready processes=2")
        children = _children(pool.process.pid)
        assert len(children) == 2
        os.kill(children[0], signal.SIGKILL)
        pool.told("ended with signal SIGKILL")
        pool.told("is ready")
        pool.signal(signal.SIGTERM)
        assert pool.end() == 0


async def test_no_process_is_left_when_the_supervisor_is_killed(folder: Path) -> None:
    with working(folder, "--processes", "2") as pool:
        pool.line("ready processes=2")
        pool.process.kill()
        # the children hold the other end of this pipe: it ends when the last of them has
        assert pool.rest().count("the supervisor is gone") == 2


async def test_when_no_process_can_start_it_gives_up(folder: Path) -> None:
    (folder / "naps.py").write_text(APP.replace('lease="2s"', "lease=200"))
    with working(folder, "--processes", "2") as pool:
        assert pool.end() == 2
        assert "before it was ready" in pool.rest()


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [("sys.exit(7)", 2, "exit code 2"), ("os.kill(os.getpid(), 9)", 1, "signal SIGKILL")],
)
async def test_it_gives_up_on_an_app_that_only_its_processes_cannot_load(
    folder: Path, end: str, code: int, said: str
) -> None:
    # the supervisor looks at the app first and goes on; whoever comes after it is a process of its own
    once = f'import os, sys\ntry:\n    os.mkdir(__file__ + ".seen")\nexcept FileExistsError:\n    {end}\n'
    (folder / "naps.py").write_text(once + APP)
    with working(folder, "--processes", "4") as pool:
        assert pool.end() == code
        told = pool.rest()
    assert f"a worker process ended with {said} before it was ready" in told
    assert "Unknown child" not in told


def _children(parent: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=True)
    return [int(pid) for pid in listed.stdout.split()]

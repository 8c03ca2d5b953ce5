"""Handlers in processes of their own: real children."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime.protocol.errors import HandlerMismatch
from runtime.protocol.ports import Outcome
from runtime.protocol.records import Callback, Write
from tests.workers import cpu_app
from tests.workers.cpu_app import BRIEF, ENDS, HELD, READS, SQUARE
from tests.workers.desk import Desk, attempt, claim, commit, reason, worker
from workers import App, step
from workers.worker import Worker

ROOT = str(Path(__file__).parents[2])


@pytest.fixture
async def made() -> AsyncIterator[Worker]:
    async with worker(cpu_app.app, Desk([("base", 5)], rows=[(b"\x00\xff", "j1")])) as one:
        yield one


async def test_a_process_gives_its_value_is_not_this_one_and_is_used_again(made: Worker) -> None:
    first, second = [commit(await attempt(made, claim(SQUARE, {"n": n}))).value for n in (3, 4)]
    assert (first[0], second[0]) == (10, 17)
    assert first[1] == second[1] != os.getpid()


async def test_a_process_reads_through_its_worker_and_hands_over_writes_with_bytes(made: Worker) -> None:
    handed = commit(await attempt(made, claim(READS, cursor=1)))
    assert handed.value[:4] == [5, "j1", "reads", 1]
    assert len(handed.value[4]) == 64
    assert handed.value[5] is True
    assert list(handed.writes) == [
        Write("insert into t values (?, :n)", {"n": b"\x01"}),
        Write("insert into t values (?)", (b"\x00\xff",)),
    ]


@pytest.mark.parametrize(
    ("payload", "verb", "said"),
    [
        ("exit", "fail", "the handler's process ended with exit code 7"),
        ("kill", "fail", "the handler's process ended by signal 9"),
        ("sys.exit", "fail", "SystemExit: 3"),
        ("retry", "fail", "retry: busy"),
        ("quarantine", "quarantine", "no use"),
        ("lookup", "fail", "LookupError: this job has no effect of a step 'nothing'; it has 'base'"),
        ("not json", "quarantine", "the handler's value cannot be stored: value: set is not JSON"),
        ("bad write", "fail", "the handler's writes are not for a line of JSON"),
    ],
)
async def test_however_a_handler_in_a_process_ends_the_next_one_runs(
    made: Worker, payload: str, verb: str, said: str
) -> None:
    outcome = await attempt(made, claim(ENDS, payload))
    assert outcome.verb == verb
    assert said in reason(outcome)
    if payload == "retry":
        assert isinstance(outcome.item, Callback)
        assert outcome.item.after == 5_000
    assert commit(await attempt(made, claim(ENDS, "nothing"))).value is None


async def test_a_process_that_ends_by_itself_under_hold_is_an_unknown_outcome(made: Worker) -> None:
    outcome = await attempt(made, claim(HELD, "exit"))
    assert outcome.verb == "quarantine"
    assert reason(outcome) == "outcome unknown: the handler's process ended with exit code 7"


async def test_a_process_over_its_time_limit_is_killed(made: Worker) -> None:
    await attempt(made, claim(SQUARE, {"n": 1}))
    outcome = await attempt(made, claim(BRIEF, "spin"))
    assert (outcome.verb, reason(outcome)) == ("fail", "time limit of 200 ms reached: the handler was cancelled")


async def test_a_process_that_is_cancelled_has_ended_before_its_claim_is_given_up(made: Worker) -> None:
    _, child = commit(await attempt(made, claim(SQUARE, {"n": 1}))).value
    outcomes: list[Outcome] = []
    async with anyio.create_task_group() as group:
        group.start_soon(attempt, made, claim(HELD, "spin"), outcomes.append)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert [outcome.verb for outcome in outcomes] == ["quarantine"]


async def test_an_app_that_a_process_cannot_import_is_refused_at_the_start() -> None:
    app = App("hidden", abi="cpu/1")

    @app.step(process=True)
    def work(ctx: Any) -> None: ...

    app.manifest([step("base", work)])
    with pytest.raises(
        HandlerMismatch, match="handler 'work' has process=True, and its process has to import app 'hidden'"
    ):
        worker(app)


async def test_an_app_that_does_not_load_in_the_process_fails_the_attempt_by_name() -> None:
    async with worker(cpu_app.app, target="tests.workers.nowhere:app") as made:
        outcome = await attempt(made, claim(SQUARE, {"n": 1}))
    assert outcome.verb == "fail"
    assert "could not load the app: ModuleNotFoundError" in reason(outcome)


async def test_an_app_in_a_file_is_loaded_by_its_path() -> None:
    async with worker(cpu_app.app, target=f"{cpu_app.__file__}:app") as made:
        assert commit(await attempt(made, claim(SQUARE, {"n": 3}))).value[0] == 10


LONELY = """
import anyio
from tests.workers import cpu_app
from tests.workers.desk import attempt, claim, worker

anyio.run(attempt, worker(cpu_app.app), claim(cpu_app.ENDS, "spin"))
"""


def test_a_process_ends_when_its_worker_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", LONELY], stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": ROOT}
    )
    assert parent.stderr is not None
    with parent:
        assert parent.stderr.readline() == b"spinning\n"
        parent.kill()
        # The child holds the other end of this pipe for as long as it lives.
        assert parent.stderr.read() == b""

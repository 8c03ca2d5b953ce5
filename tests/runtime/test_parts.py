"""The small parts of a pool: the bell, the watch on a file, faults, how a stop is asked for."""

import logging
import os
import signal
import sys
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio import create_task_group, fail_after, to_thread

from runtime.bell import Bell
from runtime.faults import MOST_IN_A_ROW, Faults
from runtime.protocol.errors import CommitUnknown, StoreBusy, StoreError
from runtime.signals import signals_ask
from runtime.stopping import Stop
from runtime.watch import Watch

pytestmark = pytest.mark.anyio


async def test_a_bell_calls_into_the_loop_from_another_thread() -> None:
    bell, heard = Bell(), anyio.Event()
    async with create_task_group() as group:
        group.start_soon(bell.serve)
        await to_thread.run_sync(bell.call, heard.set)
        with fail_after(5):
            await heard.wait()
        group.cancel_scope.cancel()
    bell.close()


async def test_a_bell_that_nobody_answers_keeps_nobody_waiting() -> None:
    bell = Bell()
    for _ in range(100_000):
        bell.call(print)
    bell.close()
    bell.call(print)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems are polled")
async def test_a_watch_hears_a_write_once_it_is_armed(tmp_path: Path) -> None:
    path, heard = tmp_path / "file", []
    path.write_bytes(b"")
    watch = Watch.on(str(path), lambda: heard.append(1))
    assert watch is not None
    async with create_task_group() as group:
        group.start_soon(watch.serve)
        path.write_bytes(b"one")
        await anyio.wait_all_tasks_blocked()
        assert heard == []
        watch.arm()
        with fail_after(5):
            while not heard:
                await anyio.lowlevel.checkpoint()
        path.write_bytes(b"two")
        await anyio.wait_all_tasks_blocked()
        assert heard == [1]
        group.cancel_scope.cancel()
    watch.close()


def test_there_is_no_watch_on_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert Watch.on(str(tmp_path / "missing"), lambda: None) is None


def test_a_busy_store_is_waited_for_without_end() -> None:
    faults = Faults(logging.getLogger("test"), "testing")
    for _ in range(5 * MOST_IN_A_ROW):
        assert faults.failed(StoreBusy("the lock was not had")) == 1.0


def test_other_faults_end_it_and_a_success_between_them_begins_anew() -> None:
    faults = Faults(logging.getLogger("test"), "testing")
    for _ in range(MOST_IN_A_ROW - 1):
        faults.failed(StoreError("disk I/O error"))
    faults.succeeded()
    for _ in range(MOST_IN_A_ROW - 1):
        faults.failed(StoreError("disk I/O error"))
    with pytest.raises(StoreError, match="disk I/O error"):
        faults.failed(StoreError("disk I/O error"))


def test_an_unknown_commit_is_never_tried_again() -> None:
    with pytest.raises(CommitUnknown):
        Faults(logging.getLogger("test"), "testing").failed(CommitUnknown("COMMIT failed"))


def test_the_first_request_leaves_the_grace_and_the_second_leaves_none() -> None:
    stop = Stop(grace_s=1000, hard_limit_s=1000)
    assert stop.cancel_in_s is None
    stop.note("SIGTERM")
    assert stop.cancel_in_s is not None
    assert stop.cancel_in_s > 900
    assert (stop.at_once, stop.overdue) == (False, False)
    stop.note("SIGINT")
    assert (stop.cancel_in_s, stop.at_once, stop.cause) == (0.0, True, "SIGTERM")


def test_the_hard_limit_counts_from_the_cancellation() -> None:
    stop = Stop(grace_s=0.0, hard_limit_s=-1.0)
    assert not stop.overdue
    stop.note("SIGTERM")
    assert stop.overdue


def test_asking_twice_in_a_program_is_one_stop() -> None:
    stop = Stop()
    stop.ask("the program ends")
    stop.ask("the program ends")
    assert (stop.asked, stop.at_once) == (1, False)


async def test_a_signal_is_noted_at_once_and_the_loop_is_told() -> None:
    stop, bell, told = Stop(), Bell(), anyio.Event()
    before = signal.getsignal(signal.SIGTERM)
    with signals_ask(stop, bell, told.set):
        os.kill(os.getpid(), signal.SIGTERM)
        assert (stop.asked, stop.cause) == (1, "SIGTERM")
        async with create_task_group() as group:
            group.start_soon(bell.serve)
            with fail_after(5):
                await told.wait()
            group.cancel_scope.cancel()
    bell.close()
    assert signal.getsignal(signal.SIGTERM) is before

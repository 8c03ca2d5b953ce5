"""The writer's thread wakes the event loop, with an event descriptor and without."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from anyio import Event, fail_after
from anyio.lowlevel import checkpoint

from runtime.protocol.manifest import Manifest, Step
from runtime.store.store import Store
from runtime.store.wakeup import WakeUp

NOTE = Manifest("note", "note/1", (Step("note", "note"),))

pytestmark = pytest.mark.parametrize("descriptors", [True, False], ids=["event descriptor", "the loop's own way"])


@pytest.fixture(autouse=True)
def _descriptors(descriptors: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not descriptors:
        monkeypatch.delattr(os, "eventfd", raising=False)
    elif not hasattr(os, "eventfd"):
        pytest.skip("no event descriptors here")


def from_a_thread(function: Callable[[], None]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


async def test_what_a_thread_asks_for_is_done_on_the_loop() -> None:
    done, threads = Event(), []

    def act() -> None:
        threads.append(threading.current_thread())
        done.set()

    wake_up = WakeUp(asyncio.get_running_loop(), act)
    for _ in range(3):
        from_a_thread(wake_up.call)
        with fail_after(10):
            await done.wait()
        done = Event()
    wake_up.close()
    assert set(threads) == {threading.current_thread()}


async def test_what_is_asked_for_once_is_done_once() -> None:
    done = []
    wake_up = WakeUp(asyncio.get_running_loop(), lambda: done.append(1))
    from_a_thread(wake_up.call)
    for _ in range(10):
        await checkpoint()
    wake_up.close()
    assert done == [1]


async def test_what_is_asked_for_after_the_end_does_no_harm() -> None:
    wake_up = WakeUp(asyncio.get_running_loop(), lambda: None)
    wake_up.close()
    wake_up.close()
    from_a_thread(wake_up.call)


def test_a_loop_that_is_closed_hears_nothing() -> None:
    loop = asyncio.new_event_loop()
    wake_up = WakeUp(loop, lambda: None)
    loop.close()
    from_a_thread(wake_up.call)
    wake_up.close()


async def test_a_store_answers(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "app.db") as store:
        await store.register(NOTE)
        await store.switch(NOTE.digest, 0)
        for number in range(10):
            assert (await store.admit("note", f"job-{number}", number)).verdict == "accepted"


async def test_where_no_event_descriptor_can_be_had_a_store_answers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*given: object) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(os, "eventfd", none, raising=False)
    async with await Store.open(tmp_path / "app.db") as store:
        assert (await store.register(NOTE)).verdict == "registered"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
async def test_a_store_leaves_no_descriptor_open(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "app.db") as store:
        await store.register(NOTE)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        async with await Store.open(tmp_path / "app.db") as store:
            await store.sweep()
    assert len(os.listdir("/proc/self/fd")) == before

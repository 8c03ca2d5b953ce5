"""`drain --wait`: it waits, it names what blocks, it never turns busy into paused (contract §9)."""

import sys

import anyio

from control.barrier import Drained, Progress, drain
from demos.scenarios.drain import W1, admit, ask, barrier, ready
from demos.scenarios.gate import environment
from demos.scenarios.world import World


async def quarantined(here: World) -> None:
    """One job, and it is quarantined."""
    await ready(here)
    await admit(here, "stuck")
    await here.store.quarantine((await here.take(W1)).token, "unsure")


async def test_d22_at_its_deadline_it_is_still_draining_exit_3_and_the_job_is_named(here: World) -> None:
    await quarantined(here)
    words = [sys.executable, "-P", "-m", "runtime", "drain", "--wait", "--timeout", "50ms", "--db", str(here.queue)]
    ended = await anyio.run_process(words, env=environment(), check=False)
    assert ended.returncode == 3
    assert b"stuck" in ended.stderr
    assert await barrier(here) == ["draining", 1]


async def test_d22_somebody_who_resumes_while_it_waits_ends_it_with_4(here: World) -> None:
    await quarantined(here)
    waiting = anyio.Event()
    found: list[Drained] = []

    def shown(progress: Progress) -> None:
        assert progress.remaining == 1
        waiting.set()

    async def wait() -> None:
        found.append(await drain(here.store, wait=True, on_progress=shown))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await waiting.wait()
        assert (await ask(here, "resume", 1))[0] == "open"
    assert [ended.code for ended in found] == [4]
    assert await barrier(here) == ["open", 2]

"""Snapshots while another process writes without pause."""

from itertools import count
from pathlib import Path

import anyio

from demos.scenarios import gate
from demos.scenarios.stage import TASK, Stage
from runtime.protocol.records import Worker
from runtime.store.store import Store
from tests.crash.invariants import check

PHOTOGRAPHS = 200
ROUNDS = 20
WORKER = Worker.declaring("worker", TASK)
RECOUNT = """
    select (select count(*) from keepstep_job), (select sum(n) from keepstep_tally where definition > 0),
      (select count(*) from keepstep_job where state = 5), (select count(*) from keepstep_effect)"""


async def busy(child: gate.Child, begun: anyio.Event, enough: anyio.Event, over: anyio.Event) -> None:
    """Admit two jobs, commit what is claimed, and try the barrier, again and again."""
    for number in count():
        for name in (f"{number}-a", f"{number}-b"):
            await child.make(("admit", {"workflow": "task", "id": name, "payload": {}, "now": number}))
        claims = await child.make(("claim", {"limit": 1 + number % 3, "worker": WORKER, "now": number}))
        for claim in claims["claims"]:
            commit = {"token": gate.token(claim), "value": 1, "worker": WORKER, "now": number}
            await child.make(("commit_step", commit))
        await cycle(child)
        begun.set()
        if number == ROUNDS:
            enough.set()
        if over.is_set():
            return


async def cycle(child: gate.Child) -> None:
    """Drain, try to pause, resume."""
    for action in ("drain", "pause", "resume"):
        version = (await child.make(("snapshot", {})))["version"]
        await child.make(("transition", {"action": action, "expected_version": version}))


async def judged(store: Store) -> None:
    """One photograph and one recount, each from one read transaction."""
    photo = await store.snapshot()
    unfinished = sum(photo.unfinished_by_definition.values())
    assert sum(photo.jobs.values()) - photo.jobs["done"] == unfinished
    assert photo.effects == photo.jobs["done"]
    assert not (photo.mode == "paused" and unfinished)
    ((jobs, tally, done, effects),) = await store.query(RECOUNT)
    assert jobs == (tally or 0)
    assert effects == done


async def test_d19_two_hundred_snapshots_while_another_process_admits_and_commits(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    await stage.define(TASK)
    begun, enough, over = anyio.Event(), anyio.Event(), anyio.Event()
    taken = 0
    async with (
        await stage.store() as store,
        gate.child(stage.path) as child,
        anyio.create_task_group() as group,
    ):
        group.start_soon(busy, child, begun, enough, over)
        await begun.wait()
        while taken < PHOTOGRAPHS or not enough.is_set():
            await judged(store)
            taken += 1
        over.set()
    assert check(stage.path) == []

"""Retention: nothing is pruned, that is said and shown, and what is finished slows nothing down."""

import json
import os
import time
from pathlib import Path

from demos.scenarios.gate import ROOT
from runtime.cli.app import COMMANDS
from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.cases.looking import counted, prepared
from tests.cases.notes import until
from tests.cases.pool import command, inside
from workers import App, Context

JOBS = 10_000
FLOWS = 100
PART = 1_000


async def test_c96_finished_jobs_stay_and_cost_the_next_ones_nothing(store: Store, db: Path) -> None:
    app = App("keeps", abi="cases/1")

    @app.step
    async def quick(ctx: Context) -> str:
        return "kept"

    app.manifest([("only", quick)])
    await prepared(app, store)
    took_s = []
    async with inside(app, db, concurrency=FLOWS):
        for begin in (0, JOBS):
            begun = time.process_time()
            for first in range(begin, begin + JOBS, PART):
                numbers = range(first, first + PART)
                await store.admit_many([Admission("keeps", f"job-{n}", n, f"flow-{n % FLOWS}") for n in numbers])
                await until(counted(store, "done", first + PART))
            took_s.append(time.process_time() - begun)
    # processor time of this process, so that neighbours on the machine do not count
    assert took_s[1] < 1.5 * took_s[0]
    assert (await store.admit("keeps", "job-0", 0, flow="flow-0")).verdict == "replay"
    assert [effect.value for effect in await store.effects("job-0")] == ["kept"]
    shown = json.loads((await command(db, "status", "-o", "json")).stdout)
    assert shown["jobs"]["done"] == 2 * JOBS
    assert shown["file_bytes"] >= os.stat(db).st_size > 1_000_000
    assert b"MiB" in (await command(db, "status")).stdout


def test_c96_that_nothing_is_pruned_is_said() -> None:
    said = (ROOT / "README.md").read_text("utf-8")
    assert "Nothing is cancelled or pruned" in said
    assert "prune" not in [name for _, name, _, _ in COMMANDS]

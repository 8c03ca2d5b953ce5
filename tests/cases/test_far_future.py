"""Far future: a job that is due in a hundred years is simply not due."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime import scheduler
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Worker
from runtime.scheduler import FLUSH_S, LONGEST_POLL_S
from runtime.store.store import Store
from tests.cases.looking import define, fields
from tests.cases.pool import inside, terminal
from workers import App, Context

CENTURY_MS = 100 * 365 * 24 * 3600 * 1000
WAITS = {"century": CENTURY_MS, "long": 10**13, "longest": 2**53 - 1}


async def test_c30_the_only_jobs_are_so_far_away_that_a_wait_would_overflow(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def noted(delay: float) -> anyio.CancelScope:
        if delay != FLUSH_S:  # the deadline for the last outcomes, no wait
            waits.append(delay)
        return anyio.move_on_after(delay)

    monkeypatch.setattr(scheduler, "move_on_after", noted)
    dues = await fail_for_long(store)
    app = App("now", abi="cases/1")
    began: list[float] = []

    @app.step
    async def begin(ctx: Context) -> None:
        began.append(time.monotonic())
        ran.set()

    for manifest in (app.manifest([("only", begin)]), *(far(name) for name in WAITS)):
        app.declare(manifest)
    ran = anyio.Event()
    async with inside(app, db):
        await anyio.sleep(0.5)
        asked = time.monotonic()
        await store.admit("now", "J", 1)
        with anyio.fail_after(5):
            await ran.wait()
    assert began[0] - asked <= LONGEST_POLL_S
    assert max(waits) <= LONGEST_POLL_S
    for name, due in dues.items():
        assert await fields(store, name, "state", "due", "attempts") == ["ready", due, 1]
    lines = [["jobs", "list"], ["status"], ["why", "drain"]]
    lines += [[*words, name] for name in WAITS for words in (("why", "job"), ("jobs", "show"))]
    ended = await terminal(db, *lines)
    assert ended.returncode == 0, ended.stderr.decode()


def far(name: str) -> Manifest:
    """A definition whose first backoff takes that long."""
    policy: dict[str, Any] = {"base": WAITS[name], "ceiling": WAITS[name]}
    return Manifest(name, "cases/1", (Step("only", "begin", **policy),))


async def fail_for_long(store: Store) -> dict[str, int | None]:
    """Three jobs that back off; when they are due."""
    dues: dict[str, int | None] = {}
    for name, wait_ms in WAITS.items():
        await define(store, far(name))
        await store.admit(name, name, 1)
        (claim,) = (await store.claim(1, Worker.declaring("w", far(name)))).claims
        before_ms = time.time_ns() // 1_000_000
        answer = await store.fail(claim.token, "not for a long time")
        assert answer.due is not None
        assert 0 <= answer.due - wait_ms - before_ms < 5_000
        dues[name] = answer.due
    return dues

"""Double Ctrl-C: the second signal ends at once, and leaves nothing in the air."""

import signal
from pathlib import Path

import anyio

from runtime.store.store import Store
from tests.cases import odd
from tests.cases.looking import fields, happened, prepared
from tests.cases.notes import begun, until
from tests.cases.pool import pool

ODD = "tests.cases.odd:app"


async def test_c65_the_second_interrupt_hands_the_job_back(store: Store, db: Path) -> None:
    await prepared(odd.app, store)
    await store.admit("long-lease", "J", {"gate": "never"})
    async with pool(db, "--grace", "30s", app=ODD) as running:
        await until(begun(db.parent, 1))
        running.send(signal.SIGINT)
        await anyio.sleep(0.5)
        running.send(signal.SIGINT)
        second_at = anyio.current_time()
        assert await running.wait() == 130
        assert anyio.current_time() - second_at < 1
    assert await fields(store, "J", "state", "attempts", "generation") == ["ready", 0, 1]
    assert await happened(store, "J") == ["released"]
    asked_at = anyio.current_time()
    await store.admit("quick", "writable", 1)
    assert anyio.current_time() - asked_at < 0.5
    async with pool(db, app=ODD) as fresh:
        await fresh.ready()
        await until(begun(db.parent, 2, "J"), within_s=1)

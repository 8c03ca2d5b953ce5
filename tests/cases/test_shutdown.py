"""Shutdown: TERM is as gentle as INT, what has ended is written, what does not end is handed on."""

import signal
import sys
from pathlib import Path

import anyio
import pytest

from runtime.store.store import Store
from tests.cases import apps, odd
from tests.cases.looking import counted, fields, in_state, prepared
from tests.cases.notes import begun, notes, open_gate, until
from tests.cases.pool import pool, surroundings

ODD = "tests.cases.odd:app"
LEASE_S = 0.5

SCRIPT = """
import sys

import anyio

import runtime
from runtime.stopping import Stop
from tests.cases import patched
from tests.cases.notes import note
from workers import App

app = App("ends", abi="cases/1")
stop = Stop(grace_s=0.0)


@app.step
async def ends(ctx):
    note(ctx, "begin")
    if ctx.payload:
        stop.ask()
    return "well"


app.manifest([("only", ends)])


async def main(path):
    async with runtime.connect(path) as store:
        await app.admit(store, "J", True)
        await runtime.run(app, store, stop=stop)


async def first(path):
    async with runtime.connect(path) as store:
        await app.prepare(store)


anyio.run(first, sys.argv[1])
patched.slow_commit()
anyio.run(main, sys.argv[1])
sys.exit(0)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_c62_both_signals_let_a_running_job_finish(store: Store, db: Path, number: signal.Signals) -> None:
    await prepared(apps.app, store)
    await store.admit("quick", "J", 1, flow="F")
    await store.admit("quick", "behind", 1, flow="F")
    await store.admit("gated", "running", {"gate": "open"}, flow="G")
    await store.admit("gated", "after", {"gate": "open"}, flow="G")
    async with pool(db, "--grace", "5s") as running:
        await until(begun(db.parent, 1, "running"))
        await until(in_state(store, "behind", "done"))
        running.send(number)
        signalled_at = anyio.current_time()
        await until(lambda: "stopping" in running.log)
        await store.admit("quick", "late", 1)
        await anyio.sleep(0.5)
        open_gate(db.parent, "open")
        assert await running.wait() == 0
        assert anyio.current_time() - signalled_at < 2
    assert await fields(store, "running", "state", "generation") == ["done", 1]
    for name in ("after", "late"):
        assert await fields(store, name, "state", "generation") == ["ready", 0]
    assert len(notes(db.parent, "begin")) == 3


async def test_c63_what_ends_as_the_shutdown_begins_is_written_before_it_returns(db: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(db)]
    ended = await anyio.run_process(command, env=surroundings(db), check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    async with await Store.open(db) as store:
        assert await fields(store, "J", "state", "generation") == ["done", 1]
        assert [effect.value for effect in await store.effects("J")] == ["well"]
    again = await anyio.run_process(
        [sys.executable, "-c", SCRIPT.replace("stop=stop", "until_idle=True"), str(db)], env=surroundings(db)
    )
    assert again.returncode == 0
    assert len(notes(db.parent, "begin")) == 1


@pytest.mark.parametrize(("limit", "code", "attempts"), [("5s", 0, 1), ("200ms", 143, 2)])
async def test_c64_a_job_that_outlives_the_grace_does_not_block_its_flow(
    store: Store, db: Path, limit: str, code: int, attempts: int
) -> None:
    await prepared(odd.app, store)
    await store.admit("stubborn", "J1", {"gate": "open", "seconds": 1.0}, flow="F")
    await store.admit("quick", "J2", 1, flow="F")
    async with pool(db, "--grace", "300ms", "--hard-limit", limit, app=ODD) as running:
        await until(begun(db.parent, 1))
        running.send(signal.SIGTERM)
        assert await running.wait() == code
        assert ("did not yield" in running.log) == (code == 143)
        ended_at = anyio.current_time()
        open_gate(db.parent, "open")
        async with pool(db, app=ODD) as fresh:
            await fresh.ready()
            ready_at = anyio.current_time()
            await until(begun(db.parent, 2, "J1"))
            assert anyio.current_time() < max(ready_at, ended_at + LEASE_S) + 0.5
            (second,) = notes(db.parent, "begin", "J1")[1:]
            assert (second["generation"], second["attempt"]) == (2, attempts)
            await until(counted(store, "done", 2))
    assert await store.audit("J1") == []
    assert notes(db.parent, "begin")[-1]["job"] == "J2"

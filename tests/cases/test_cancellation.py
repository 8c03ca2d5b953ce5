"""Cancellation: what a cancelled opening, an uncaught error and a stop leave behind."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import fields, happened, prepared
from tests.cases.notes import SLACK, begun, notes, open_gate, until
from tests.cases.pool import pool, surroundings

SCRIPT = """
import sys

import anyio

import runtime


async def main(path):
    async with runtime.connect(path) as store:
        try:
            await store.ensure_schema("mine", "create table mine (id integer unique);"
                                              "insert into mine values (1); insert into mine values (1);")
        except Exception:
            print("FAILED", flush=True)
            sys.stdin.readline()
            raise


anyio.run(main, sys.argv[1])
"""


def descriptors(path: Path) -> int:
    """How many descriptors of this process are open on the database and the files beside it."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{name}").startswith(str(path))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.1, None])
async def test_c46_cancelling_while_the_store_opens_leaks_nothing(db: Path, after_s: float | None) -> None:
    async with await Store.open(db):
        pass
    threads = threading.active_count()
    opened: list[Store] = []

    async def opens(scope: anyio.CancelScope) -> None:
        with scope:
            async with await Store.open(db) as store:
                opened.append(store)
                await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        scopes = [anyio.CancelScope() for _ in range(50)]
        for scope in scopes:
            group.start_soon(opens, scope)
        if after_s is None:
            await until(lambda: len(opened) == 50)
        else:
            await anyio.sleep(after_s)
        for scope in scopes:
            scope.cancel()
    await until(lambda: descriptors(db) == 0 and threading.active_count() <= threads, within_s=SLACK * 1)
    begun_at = time.monotonic()
    async with await Store.open(db) as store:
        await prepared(apps.app, store)
    assert time.monotonic() - begun_at < SLACK * 1
    os.unlink(db)


async def test_c47_an_uncaught_error_neither_locks_the_file_nor_keeps_the_interpreter(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    command = [sys.executable, "-c", SCRIPT, str(db)]
    async with await anyio.open_process(command, env=surroundings(db)) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        with anyio.fail_after(10):
            assert await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 80) == b"FAILED"
        asked = time.monotonic()
        assert (await store.admit("quick", "J", 1)).verdict == "accepted"
        assert time.monotonic() - asked < SLACK * 0.1
        await process.stdin.send(b"go on\n")
        with anyio.fail_after(SLACK * 2):
            assert await process.wait() == 1
        assert process.stderr is not None
        assert b"UNIQUE" in await process.stderr.receive()


async def test_c48_a_stop_is_not_recorded_as_a_failure_of_the_job(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    await store.admit("gated", "J", {"gate": "open"})
    async with pool(db, "--grace", "200ms", "--log-format", "json") as running:
        await until(begun(db.parent, 1))
        running.send(signal.SIGTERM)
        assert await running.wait() == 0
        assert "CancelledError" not in running.log
        assert not [line for line in running.log.splitlines() if "error" in line.lower() or "Traceback" in line]
    assert await fields(store, "J", "state", "attempts", "reason") == ["ready", 0, None]
    assert await happened(store, "J") == ["released"]
    open_gate(db.parent, "open")
    async with pool(db, "--until-idle") as running:
        assert await running.wait() == 0
    assert await fields(store, "J", "state", "generation") == ["done", 2]
    assert [entry["attempt"] for entry in notes(db.parent, "begin")] == [1, 1]

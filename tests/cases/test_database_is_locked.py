"""Database is locked: writers wait for one another, and nobody hears of it."""

import json
import signal
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Admission, Claim, Worker
from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import count, counted, define, prepared
from tests.cases.notes import notes, until
from tests.cases.pool import command, pool, terminal

HELD_S = 1.0
LONGEST_S = 5.0
OLD = Manifest("w", "cases/1", (Step("only", "any"),))
NEW = Manifest("w", "cases/1", (Step("only", "any"), Step("more", "any")))
WORKER = Worker.declaring("w", OLD, NEW)


@pytest.mark.timeout(120)
async def test_c43_eight_workers_and_four_admitting_processes_on_one_file(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    begun = time.monotonic()

    async def admits(part: int) -> None:
        lines = [json.dumps({"id": f"{part}-{n}", "payload": n, "flow": f"flow-{n % 50}"}) for n in range(500)]
        ended = await command(db, "admit", "steady", "--jsonl", "-", "-o", "jsonl", stdin="\n".join(lines))
        assert ended.returncode == 0, ended.stderr
        assert b"locked" not in ended.stderr

    async with pool(db, "--processes", "8", "--concurrency", "4") as running:
        async with anyio.create_task_group() as group:
            for part in range(4):
                group.start_soon(admits, part)
        await until(counted(store, "done", 2_000), within_s=60)
        assert time.monotonic() - begun < 60
        running.send(signal.SIGTERM)
        assert await running.wait() == 0
        log = running.log
    assert "locked" not in log
    assert "busy" not in log
    assert " error " not in log
    assert len(notes(db.parent, "end")) == 2_000


OPERATIONS: dict[str, Callable[[Store, list[Claim]], Awaitable[Any]]] = {
    "register": lambda store, _: store.register(NEW),
    "switch": lambda store, _: store.switch(OLD.digest, 1),
    "admit": lambda store, _: store.admit("w", "fresh", 1),
    "claim": lambda store, _: store.claim(1, WORKER),
    "commit_step": lambda store, claims: store.commit_step(claims[0].token, 1, worker=WORKER),
    "fail": lambda store, claims: store.fail(claims[0].token, "why"),
    "release": lambda store, claims: store.release(claims[0].token, "why"),
    "renew": lambda store, claims: store.renew(claims[0].token),
    "drain": lambda store, _: store.transition("drain", 0),
    "pause": lambda store, _: store.transition("pause", 1),
    "resume": lambda store, _: store.transition("resume", 1),
    "redrive": lambda store, claims: store.redrive("quarantined", claims[0].token.generation, "why"),
    "recover": lambda store, claims: store.recover(claims[0].token.job, claims[0].token.generation, "why"),
    "migrate": lambda store, _: store.migrate("idle", 0, NEW.digest, "why"),
}
GOOD = {"registered", "switched", "accepted", "done", "retry", "released", "renewed", "draining", "paused", "open"}
GOOD |= {"redriven", "recovered", "migrated"}


async def ready_for(operation: str, store: Store) -> list[Claim]:
    """A store in which the operation is allowed."""
    await define(store, OLD)
    if operation != "register":
        await store.register(NEW)
    if operation in ("pause", "resume"):
        await store.transition("drain", 0)
        return []
    await store.admit_many([Admission("w", name, 1, name) for name in ("first", "quarantined")])
    claims = list((await store.claim(2, WORKER)).claims)
    await store.quarantine(claims[1].token, "for redrive")
    await store.admit("w", "idle", 1)
    return claims


async def waits_its_turn(operation: str, path: Path) -> None:
    """A stranger holds the write lock for a second and commits a write; the operation waits, then sees it."""
    async with await Store.open(path) as store:
        claims = await ready_for(operation, store)
        with closing(sqlite3.connect(path, isolation_level=None)) as stranger:
            stranger.execute("create table theirs (n integer)")
            stranger.execute("begin immediate")
            answers: list[tuple[str, float]] = []

            async def call() -> None:
                answer = await OPERATIONS[operation](store, claims)
                word = "done" if operation == "claim" and answer.claims else str(getattr(answer, "verdict", "none"))
                answers.append((word, time.monotonic()))

            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await anyio.sleep(HELD_S / 2)
                stranger.execute("insert into theirs values (1)")
                await anyio.sleep(HELD_S / 2)
                freed_at = time.monotonic()
                stranger.execute("commit")
        ((word, answered_at),) = answers
        assert word in GOOD, f"{operation}: {word}"
        assert 0 < answered_at - freed_at < LONGEST_S - HELD_S, f"{operation}: {answered_at - freed_at} s"


async def test_c44_every_operation_waits_for_a_stranger_that_writes(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        for operation in OPERATIONS:
            group.start_soon(waits_its_turn, operation, tmp_path / f"{operation}.db")


async def test_c45_a_second_terminal_beside_the_first_demo(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    async with pool(db) as running:
        await running.ready()
        looks = [["status"]] * 20
        admits = [["admit", "quick", f"job-{n}", "--payload", json.dumps({"n": n})] for n in range(20)]
        mixed = [line for pair in zip(looks, admits, strict=True) for line in pair]
        second = await terminal(db, *mixed, ["drain", "--wait", "--timeout", "20s"], ["resume"])
        assert second.returncode == 0, second.stderr.decode()
        for text in (second.stderr.decode(), second.stdout.decode(), running.log):
            assert "Traceback" not in text
            assert "locked" not in text
        assert json.loads(second.stdout.splitlines()[-1]) == [0] * 42
        assert await count(store, "done") == 20
        assert (await store.snapshot()).mode == "open"

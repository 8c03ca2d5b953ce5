"""Time zone: stored times are integers, and where a process stands changes nothing."""

import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio

from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Worker
from runtime.store.store import Store
from tests.cases import odd
from tests.cases.looking import in_state, job, prepared
from tests.cases.notes import notes, until
from tests.cases.pool import pool, terminal

ODD = "tests.cases.odd:app"
ZONES = ("America/Sao_Paulo", "Asia/Kolkata", "Pacific/Kiritimati", "UTC")
BASE_MS, SOON_MS = 600, 2 * 250
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\S*)")


def workflow(name: str) -> Manifest:
    """A manifest of the odd app."""
    return next(manifest for manifest in odd.app.manifests if manifest.name == name)


async def one_zone(folder: Path, zone: str) -> None:
    """A pool in this zone, everybody else in UTC: a start, a retry and a takeover come when they are due."""
    db = folder / "app.db"
    async with await Store.open(db) as store:
        await prepared(odd.app, store)
        async with pool(db, app=ODD, env={"TZ": zone}) as running:
            await running.ready()
            await store.admit("quick", "lapsed", 1, flow="lapsed")
            await until(in_state(store, "lapsed", "done"))
            await store.admit("fails-once", "J", 1, flow="J")
            await until(in_state(store, "J", "done"))
            first, second = [entry["at_ms"] for entry in notes(folder, "begin", "J")]
            assert first - (await job(store, "J")).admitted_at <= SOON_MS
            assert BASE_MS <= second - first <= BASE_MS + SOON_MS
            await taken_over(store, folder)
        await same_times(db, zone)
        await integers(store)


async def taken_over(store: Store, folder: Path) -> None:
    """A job of a worker that is gone is taken over when its lease is over."""
    worker = Worker.declaring("dead", workflow("fails-once"))
    (claim,) = await claimed(store, worker)
    await until(in_state(store, "K", "done"))
    (begun,) = notes(folder, "begin", "K")
    assert begun["generation"] == 2
    assert 0 <= begun["at_ms"] - claim.lease_until <= SOON_MS


async def claimed(store: Store, worker: Worker) -> Any:
    """A claim that the pool does not win: both requests join one transaction, admission first."""
    async with anyio.create_task_group() as group:
        group.start_soon(store.admit, "fails-once", "K", 1)
        claims = await store.claim(1, worker)
    return claims.claims


async def same_times(db: Path, zone: str) -> None:
    """Printed times carry a zone, and are the same wherever they are printed."""
    lines = [["jobs", "show", "J"], ["jobs", "show", "J", "-o", "json"]]
    here = await terminal(db, *lines, env={"TZ": "UTC"})
    there = await terminal(db, *lines, env={"TZ": zone})
    stamps = [STAMP.findall(text.stdout.decode()) for text in (here, there)]
    assert stamps[0]
    assert set(stamps[0]) == {"Z"}
    printed = [[found.group() for found in STAMP.finditer(text.stdout.decode())] for text in (here, there)]
    assert printed[0] == printed[1]
    document = here.stdout.decode()
    life = json.JSONDecoder().raw_decode(document[document.index("{") :])[0]
    moment = datetime.fromisoformat(printed[0][0].replace("Z", "+00:00"))
    assert round(moment.timestamp() * 1000) in {life["job"]["admitted_at"], *(event["at"] for event in life["events"])}


async def integers(store: Store) -> None:
    """Every stored time is an integer."""
    columns = ("at", "at_ms", "admitted_at", "due", "lease", "since", "started_at_ms", "seen_at_ms", "last_at")
    for table, (names, *rows) in (await store.dump()).items():
        for row in rows:
            times = [value for name, value in zip(names, row, strict=True) if name in columns and value is not None]
            assert all(type(value) is int for value in times), table


async def test_c92_where_a_process_stands_changes_no_time(tmp_path: Path) -> None:
    for number in range(len(ZONES)):
        os.mkdir(tmp_path / str(number))
    async with anyio.create_task_group() as group:
        for number, zone in enumerate(ZONES):
            group.start_soon(one_zone, tmp_path / str(number), zone)

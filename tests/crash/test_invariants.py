"""The invariants see what they are for: each sentence is broken by hand in a file that holds every kind of job."""

import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from demos.scenarios.cases import LONG, ONE, UNITS, V1, V2, WORKER
from demos.scenarios.stage import LAPSED, take
from runtime.store.inbox import Inbox
from runtime.store.store import Store
from tests.crash.invariants import INBOX_STATEMENTS, STATEMENTS, check, check_inbox

DAMAGE = {
    "the sum of lifetime attempts is the global ticket": (
        "update keepstep_tally set n = n + 1 where (definition, state) = (0, 6)"
    ),
    "generation = lifetime attempts + audited redrives, recoveries, operator quarantines and migrations": (
        "update keepstep_job set generation = generation + 1 where key = 'ready'"
    ),
    "attempts never exceed lifetime attempts": "update keepstep_job set attempts = 9 where key = 'ready'",
    "effects are the gapless prefix 0..cursor-1": "delete from keepstep_effect",
    "every effect's definition is the job's current one": "update keepstep_effect set definition = 2",
    "no effect is newer than its job's generation": "update keepstep_effect set generation = 99",
    "every effect belongs to a job": "insert into keepstep_effect values (99, 0, 1, 0, 1, null, '1')",
    "a job is done exactly when its cursor has passed its last step": (
        "update keepstep_job set state = 0 where key = 'done'"
    ),
    "every job has its payload, and no payload is without a job": "update keepstep_job set body = null where id = 1",
    "a job in flight has used an attempt": "update keepstep_job set attempts = 0 where state in (2, 3)",
    "the tally is the recount": "update keepstep_tally set n = n + 1 where state = 0",
    "the store's counters are the recount": (
        "update keepstep_tally set n = n - 1 where (definition, state) = (0, 7)"
    ),
    "the flows' counters are the recount": "update keepstep_flow set taken = taken + 1 where name = 'a'",
    "every unfinished job has its flow, or a turn of its own": "delete from keepstep_flow where name = 'a'",
    "sequence numbers are gapless from 1, and the flow knows the next": (
        "update keepstep_flow set next_seq = next_seq + 1 where name = 'a'"
    ),
    "of an ordered flow only the head is in flight or waiting": (
        "update keepstep_job set state = 1, due = 1 where key = 'behind'"
    ),
    "a flow's dispatch state is what its jobs make it": (
        "update keepstep_flow set job = null, next_definition = null where next_definition is not null"
    ),
    "no flow, and no job without one, was served later than the last ticket": (
        "update keepstep_job set served = 99 where key = 'alone'"
    ),
    "every flow has a name": "update keepstep_flow set name = null where name = 'a'",
    "paused means nothing unfinished": "update keepstep_control set mode = 'paused'",
    "the barrier's version is the number of its audited commands": "update keepstep_control set version = 7",
    "a route's revision is the number of its audited switches": "update keepstep_route set revision = 7",
    "the binding revision is the number of audited migrations": (
        "update keepstep_job set binding = binding + 1 where key = 'moved'"
    ),
    "the migrations lead from the accepted to the current digest without a gap": (
        "update keepstep_job set accepted = definition where key = 'moved'"
    ),
    "a receipt's command left an audit row": "update keepstep_audit set command_id = null",
    "history speaks of jobs that exist": "update keepstep_history set job = 99",
    "a job's definition is of its accepted one's workflow": (
        "update keepstep_job set definition = (select id from keepstep_definition where workflow = 'note') "
        "where key = 'ready'"
    ),
    "a definition's step rows are as many as it has steps": "delete from keepstep_step where ix = 1",
    "a definition's digest is that of its bytes": (
        "update keepstep_definition set manifest = replace(manifest, '\"per_unit\":1', '\"per_unit\":2')"
    ),
    "foreign keys hold": "update keepstep_route set definition = 99",
}


INBOX_DAMAGE = {
    "a flow's receipts are gapless, and add up to its total": "update inbox_flow set total = total + 1",
    "every receipt has its flow's effect": "delete from inbox_flow",
}


async def filled(folder: Path) -> Path:
    """A store with a job of every kind."""
    path = folder / "whole.db"
    async with await Store.open(path, clock="logical") as store:
        await store.register_many([V1, V2, ONE], now=0)
        for manifest in (V1, ONE):
            await store.switch(manifest.digest, 0, now=0)
        await store.admit("points", "done", UNITS, now=0)
        await store.commit_step((await take(store, WORKER, 0)).token, 10, worker=WORKER, now=0)
        await store.commit_step((await take(store, WORKER, 0)).token, 1, worker=WORKER, now=0)
        await store.admit("points", "failed", UNITS, flow="b", now=0)
        await store.fail((await take(store, WORKER, 0)).token, "broken", worker="worker", now=0)
        await store.admit("points", "lapsed", UNITS, flow="c", now=0)
        await take(store, WORKER, 0)
        await store.sweep(now=LAPSED)
        await store.quarantine_job("lapsed", 1, "enough", command_id="command", now=LAPSED)
        await store.admit("points", "moved", UNITS, flow="d", now=LAPSED)
        await store.migrate("moved", 0, V2.digest, "agreed", now=LAPSED)
        await store.admit("points", "head", UNITS, flow="a", now=LAPSED)
        for _ in range(3):
            await take(store, WORKER, LAPSED)
        await store.admit("points", "behind", UNITS, flow="a", now=LAPSED)
        await store.admit("points", "ready", UNITS, flow="e", now=LAPSED)
        await store.admit("points", "alone", LONG, now=LAPSED)
    return path


def damaged(path: Path, statement: str, judge: Callable[[Path], list[str]] = check) -> list[str]:
    """What `judge` says of a copy in which this was done by hand."""
    copy = Path(shutil.copy(path, path.with_name("damaged.db")))
    with closing(sqlite3.connect(copy, isolation_level=None)) as raw:
        raw.execute("pragma ignore_check_constraints = on")
        assert raw.execute(statement).rowcount > 0, f"nothing was damaged: {statement}"
        raw.execute("pragma wal_checkpoint(truncate)")
    found = judge(copy)
    for end in ("", "-wal", "-shm"):
        Path(f"{copy}{end}").unlink(missing_ok=True)
    return found


def sentences(found: Iterable[str]) -> set[str]:
    """The sentences alone."""
    known = {*STATEMENTS, *DAMAGE}
    return {sentence for sentence in known for line in found if line.startswith(sentence)}


async def test_a_file_with_every_kind_of_job_breaks_none(tmp_path: Path) -> None:
    assert check(await filled(tmp_path)) == []


async def test_each_damage_breaks_its_sentence(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    unseen = [sentence for sentence, statement in DAMAGE.items() if sentence not in sentences(damaged(path, statement))]
    assert not unseen


async def test_each_damage_to_a_receiver_breaks_its_sentence(tmp_path: Path) -> None:
    path = tmp_path / "receiver.db"
    async with await Inbox.open(path) as inbox:
        for seq in (1, 2):
            await inbox.receive(f"a{seq}", "a", seq, {"delta": 10})
    assert check_inbox(path) == []
    for sentence, statement in INBOX_DAMAGE.items():
        assert any(line.startswith(sentence) for line in damaged(path, statement, check_inbox))


def test_every_sentence_has_its_damage() -> None:
    assert {*STATEMENTS} <= {*DAMAGE}
    assert {*INBOX_STATEMENTS} == {*INBOX_DAMAGE}


@pytest.mark.parametrize("table", ["job", "effect", "payload"])
async def test_a_lost_row_is_seen(table: str, tmp_path: Path) -> None:
    assert damaged(await filled(tmp_path), f"delete from keepstep_{table}")

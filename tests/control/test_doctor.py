"""The doctor: a sound store has no fault; what is wrong is found and named."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from control.doctor import Finding, look_over, settings
from runtime.protocol.errors import StoreError
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store
from tests.control.conftest import W1, live


def level(findings: list[Finding], check: str) -> set[str]:
    """The levels of a check's findings."""
    return {finding.level for finding in findings if finding.check == check}


async def test_a_sound_store_has_no_fault(store: Store) -> None:
    await store.admit("points", "a", 1, flow="F")
    claim = (await store.claim(1, W1, now=1)).claims[0]
    await store.commit_step(claim.token, 1, worker=W1, now=1)
    findings = await look_over(store, grace_ms=30_000)
    assert [finding for finding in findings if finding.level == "fault"] == []
    assert level(findings, "counters") == {"ok"}


async def test_a_file_that_others_can_read_is_named(store: Store) -> None:
    os.chmod(store.path, 0o640)
    findings = await look_over(store, grace_ms=30_000)
    (mode,) = [finding for finding in findings if finding.check == "mode"]
    assert mode.level == "warning"
    assert mode.next == f"chmod 600 {store.path}"


async def test_a_worker_that_ended_without_saying_so_is_noted(store: Store) -> None:
    await live(store, W1)
    (found,) = [
        finding
        for finding in await look_over(store, grace_ms=1)
        if finding.check == "workers" and finding.level == "ok"
    ]
    assert "live: W1" in found.text


async def test_a_clock_that_went_back_is_a_warning(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "wall.db") as store:
        await store.register(Manifest("points", "a/1", (Step("s", "s"),)))
        await store.switch((await store.definitions())[0][0], 0)
        await store.admit("points", "a", 1)
        real = time.time_ns
        time.time_ns = lambda: real() - 3_600_000_000_000
        try:
            findings = await look_over(store, grace_ms=30_000)
        finally:
            time.time_ns = real
    assert level(findings, "clock") == {"warning"}


def test_settings_that_cannot_work_together_are_named() -> None:
    short = Manifest("points", "a/1", (Step("s", "s", lease=100),))
    held = Manifest("points", "a/1", (Step("s", "s", on_lapse=OnLapse.HOLD, time_limit=60_000),))
    assert [finding.level for finding in settings([short], "wall", 30_000)] == ["fault"]
    assert [finding.level for finding in settings([held], "wall", 30_000)] == ["note"]
    assert [finding.level for finding in settings([held], "wall", 60_000)] == ["ok"]


async def test_a_counter_that_somebody_else_changed_is_a_fault(store: Store) -> None:
    await store.admit("points", "a", 1, flow="F")
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("update keepstep_tally set n = 5 where (definition, state) = (0, 7)")
        other.execute("update keepstep_flow set unfinished = 7")
        other.execute("update keepstep_tally set n = 9 where definition > 0")
    findings = await look_over(store, grace_ms=30_000)
    texts = [finding.text for finding in findings if finding.check == "counters"]
    assert level(findings, "counters") == {"fault"}
    assert "unfinished jobs: counted 5, there are 1" in texts
    assert len(texts) == 3


@pytest.mark.parametrize("counter", range(6, 11))
async def test_a_counter_that_is_missing_is_a_fault_and_every_verb_says_so(store: Store, counter: int) -> None:
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("delete from keepstep_tally where definition = 0 and state = ?", (counter,))
    assert level(await look_over(store, grace_ms=30_000), "counters") == {"fault"}
    for asked in (store.snapshot(), store.admit("points", "a", 1)):
        with pytest.raises(StoreError, match="one of the counters is missing"):
            await asked


async def test_a_reference_that_leads_nowhere_is_a_fault(store: Store) -> None:
    await store.admit("points", "a", 1)
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("update keepstep_job set accepted = 99")
    assert level(await look_over(store, grace_ms=30_000), "references") == {"fault"}


@pytest.mark.parametrize(
    "change",
    ["replace(manifest, '\"budget\":', '\"budget\": ')", "'no JSON'", "cast(x'ff' as text)"],
    ids=["other bytes", "no JSON", "no text"],
)
async def test_a_definition_whose_bytes_are_not_its_digests_is_a_fault(store: Store, change: str) -> None:
    assert level(await look_over(store, grace_ms=30_000), "registry") == {"ok"}
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("update keepstep_definition set manifest = " + change)
    assert level(await look_over(store, grace_ms=30_000), "registry") == {"fault"}


async def test_a_file_that_cannot_be_read_to_its_end_is_a_fault(store: Store) -> None:
    await store.admit("points", "a", 1)
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("pragma wal_checkpoint(truncate)")
        (page,) = other.execute("select rootpage from sqlite_schema where name = 'keepstep_job'").fetchone()
        (size,) = other.execute("pragma page_size").fetchone()
    file = os.open(store.path, os.O_WRONLY)
    os.pwrite(file, b"\xff" * size, (page - 1) * size)
    os.close(file)
    async with await Store.open(store.path, create=False, clock="logical") as damaged:
        findings = await look_over(damaged, grace_ms=30_000)
    assert level(findings, "file") == {"fault"}

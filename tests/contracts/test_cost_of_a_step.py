"""What a step costs does not depend on what else is in the file: SQLite's virtual machine instructions are counted.

The count needs no clock and does not flicker. It covers a commit of 32 steps and a claim of 32 more, again and again.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.bench import rows
from runtime.bench.bare import DEADLINE_MS, Bare
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Worker
from runtime.store.sqlite import Files, open_writer
from runtime.store.store import Store

BATCH = 32
CYCLES = 12
TOLERANCE = 0.10
MOST = 700

OWN = Manifest("own", "note/1", (Step("note", "note"),))
FOREIGN = Manifest("foreign", "note/1", (Step("note", "note"),))
WORKER = Worker.declaring("worker", OWN)
Parts = tuple[tuple[Manifest, int | str, int], ...]
READY: Parts = ((OWN, rows.READY, 2_000),)
HEADS: Parts = ((OWN, rows.HEADS, 2_000),)


async def instructions(path: Path, parts: Parts) -> float:
    """Instructions for one step (its commit and its claim) in a file filled with these parts."""
    async with await Store.open(path) as store:
        await store.register_many([OWN, FOREIGN])
    files = Files.check(path, create=False)
    connection = await open_writer(files, durability="full", deadline_ms=DEADLINE_MS)
    try:
        return await connection.run(counting(files, parts))
    finally:
        await connection.close()


def counting(files: Files, parts: Parts) -> Callable[[sqlite3.Connection], float]:
    """A unit that fills the file, then counts."""

    def unit(raw: sqlite3.Connection) -> float:
        for manifest, kind, count in parts:
            rows.fill(raw, rows.definition_id(raw, manifest.digest), kind, count)
        bare = Bare(raw, files)
        counted = 0

        def tick() -> int:
            nonlocal counted
            counted += 1
            return 0

        try:
            claims = bare.cycle(bare.claim(WORKER, BATCH), WORKER)
            raw.set_progress_handler(tick, 1)
            for _ in range(CYCLES):
                claims = bare.cycle(claims, WORKER)
                assert len(claims) == BATCH
            raw.set_progress_handler(None, 1)
        finally:
            bare.close()
        return counted / CYCLES / BATCH

    return unit


async def test_the_count_is_exact_and_within_reason(tmp_path: Path) -> None:
    first, second = [await instructions(tmp_path / name, READY) for name in ("a.db", "b.db")]
    assert first == second
    assert first < MOST


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(((OWN, rows.READY, 60_000),), id="60 k ready"),
        pytest.param(((OWN, rows.DONE, 300_000), *READY), id="behind 300 k finished"),
        pytest.param(((OWN, rows.WAITING, 100_000), *READY), id="beside 100 k backing off"),
        pytest.param(((FOREIGN, rows.READY, 100_000), *READY), id="beside 100 k of a foreign digest"),
        pytest.param(((FOREIGN, rows.HEADS, 100_000), *READY), id="beside 100 k flows of a foreign digest"),
        pytest.param(((OWN, rows.QUARANTINED, 100_000), *READY), id="beside 100 k quarantined heads"),
    ],
)
async def test_a_step_costs_the_same_whatever_lies_beside_it(parts: Parts, tmp_path: Path) -> None:
    await compare(tmp_path, READY, parts)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(((OWN, rows.HEADS, 60_000),), id="60 k ready flows"),
        pytest.param(((FOREIGN, rows.HEADS, 100_000), *HEADS), id="beside 100 k flows of a foreign digest"),
        pytest.param(((OWN, rows.QUARANTINED, 100_000), *HEADS), id="beside 100 k quarantined heads"),
    ],
)
async def test_a_step_in_a_flow_costs_the_same_whatever_lies_beside_it(parts: Parts, tmp_path: Path) -> None:
    await compare(tmp_path, HEADS, parts)


async def compare(folder: Path, few: Parts, parts: Parts) -> None:
    """The instructions of a step in a file with few rows and in another differ by no more than the tolerance."""
    alone = await instructions(folder / "alone.db", few)
    beside = await instructions(folder / "beside.db", parts)
    assert abs(beside / alone - 1) <= TOLERANCE, f"{beside:.0f} instructions a step, {alone:.0f} without them"

"""A small round of `python -m tests.powerloss`, and the disk that it builds on."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.powerloss.disk import LOSSES, Disk, sectors
from tests.powerloss.log import Record
from tests.powerloss.run import one_pass, record
from tests.powerloss.shim import built, missing

EVERYTHING = LOSSES[0]


def written(disk: Disk, data: bytes, *, offset: int = 0) -> None:
    """A write to the database file."""
    disk.replay(Record("W", 1, offset, data))


def made() -> Disk:
    """A disk with a database file that is certain and empty."""
    disk = Disk()
    for record_ in (Record("C", 1, 0, b""), Record("S", 5, 0, b"")):
        disk.replay(record_)
    return disk


def test_a_disk_keeps_what_was_synced_and_no_more() -> None:
    disk = made()
    written(disk, b"old")
    disk.replay(Record("S", 1, 0, b""))
    written(disk, b"new!")
    assert disk.after(EVERYTHING, Random(0)) == {"": b"old"}
    seen = Counter(disk.after("some writes", Random(seed))[""] for seed in range(30))
    assert set(seen) == {b"old", b"new!"}


def test_a_name_is_certain_with_its_folder() -> None:
    disk = Disk()
    disk.replay(Record("C", 1, 0, b""))
    written(disk, b"x")
    disk.replay(Record("S", 1, 0, b""))
    assert disk.after(EVERYTHING, Random(0)) == {}
    disk.replay(Record("S", 5, 0, b""))
    assert disk.after(EVERYTHING, Random(0)) == {"": b"x"}


def test_a_torn_write_leaves_whole_sectors() -> None:
    assert [(write.offset, len(write.data or b"")) for write in sectors(500, bytes(600))] == [
        (500, 12), (512, 512), (1024, 76),
    ]  # fmt: skip


@pytest.mark.skipif(missing() is not None, reason=missing() or "")
def test_answered_rows_survive_a_power_loss_and_the_control_loses_some(tmp_path: Path) -> None:
    library = built(tmp_path)
    full, normal = (one_pass(record(library, tmp_path, level, 2), 0, 24) for level in ("full", "normal"))
    assert full.states.total() > 12
    assert (full.losing, full.broken, normal.broken) == (0, [], [])
    assert normal.losing > 0

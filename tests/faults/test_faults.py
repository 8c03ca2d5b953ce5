"""A small round of `python -m tests.faults`."""

from pathlib import Path

import pytest

from tests.faults.run import play
from tests.faults.scenes import SCENES
from tests.powerloss.shim import built, missing


@pytest.mark.skipif(missing() is not None, reason=missing() or "")
async def test_a_disk_that_fails_in_front_of_a_commit_leaves_it_whole_or_not_there(tmp_path: Path) -> None:
    scenes = [scene for scene in SCENES if scene.name == "commit_step: commit first"]
    outcome = await play(built(tmp_path), tmp_path, scenes, count=6, seconds=0, seed=0)
    assert outcome.played == 6
    assert outcome.broken == []

"""A hint that somebody wrote comes when what was written can be read, not when the write-ahead file changes."""

from pathlib import Path

import pytest

from runtime.protocol.manifest import Manifest, Step
from runtime.store import group
from runtime.store.store import Store

MANIFEST = Manifest("points", "local/1", (Step("only", "credit"),))


async def test_a_write_is_hinted_at_once_it_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "app.db"
    seen: list[tuple[str, bool]] = []
    async with await Store.open(path, clock="logical") as writing, await Store.open(path, clock="logical") as looking:
        await writing.register(MANIFEST)
        await writing.switch(MANIFEST.digest, 0)
        commit = group.commit

        def watched(raw: object) -> None:
            seen.append(("before", looking.moved()))
            commit(raw)  # type: ignore[arg-type]
            # the file has changed, and a look at this moment would find the job or not: nothing is promised yet
            seen.append(("committed", looking.moved()))

        looking.moved()
        monkeypatch.setattr(group, "commit", watched)
        await writing.admit("points", "J", 1)
        seen.append(("answered", looking.moved()))
        assert await looking.job("J") is not None
        seen.append(("again", looking.moved()))
    assert seen == [("before", False), ("committed", False), ("answered", True), ("again", False)]


async def test_every_write_is_hinted_at_however_close_they_follow(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    async with (
        await Store.open(path, clock="logical", durability="normal") as writing,
        await Store.open(path, clock="logical") as looking,
    ):
        await writing.register(MANIFEST)
        await writing.switch(MANIFEST.digest, 0)
        looking.moved()
        for number in range(200):
            await writing.admit("points", f"job-{number}", 1)
            assert looking.moved()
            assert not looking.moved()

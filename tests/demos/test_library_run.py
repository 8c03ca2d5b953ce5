"""The library's main job on a small folder: every cause, a second run, two definitions, kills at named points."""

import os
import re
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import pytest
from rich.console import Console

from demos.library.app import DEFINITIONS, HUGE_BYTES, app
from demos.library.find import admission, walk
from demos.library.read import Skipped, read
from demos.library.run import library, look_up
from demos.scenarios.gate import environment
from runtime.protocol.records import Worker
from runtime.store.store import Store

FILES = 30
SOUND = "nothing was indexed twice:"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files that can be used and files that cannot."""
    place = tmp_path / "shelf"
    for number in range(FILES):
        (place / f"part{number % 3}").mkdir(parents=True, exist_ok=True)
        (place / f"part{number % 3}" / f"{number}.md").write_text(f"# Title {number}\n\nword{number} common\n")
    (place / "empty.txt").touch()
    (place / "binary.dat").write_bytes(b"\x80\x00")
    with (place / "huge.txt").open("wb") as file:
        file.truncate(HUGE_BYTES + 1)
    return place


async def work(folder: Path, db: Path, definition: str = "v1") -> tuple[int, str]:
    """One run: its exit code and what it said."""
    said = StringIO()
    console = Console(file=said, soft_wrap=True, highlight=False)
    code = await library(str(folder), str(db), definition=definition, out=console, err=console)
    return code, said.getvalue()


async def rows(db: Path, sql: str) -> list[Any]:
    """The rows of a query."""
    async with await Store.open(db, create=False) as store:
        return list(await store.query(sql))


async def test_every_file_ends_done_and_the_causes_are_told_apart(folder: Path, tmp_path: Path) -> None:
    code, said = await work(folder, tmp_path / "library.db")
    assert code == 0
    assert re.search(r"\b30  in the index", said)
    for cause, name in (("undecodable", "binary.dat"), ("empty", "empty.txt"), ("huge", "huge.txt")):
        assert re.search(rf"\b1  skipped: {cause} \(for example {name}\)", said)
    assert f"{SOUND} 33 jobs wrote to the index 33 times; it has 30 rows for 30 different paths" in said
    flows = await rows(tmp_path / "library.db", "select name, width from keepstep_flow order by name")
    assert [tuple(row) for row in flows] == [(".", 8), ("part0", 8), ("part1", 8), ("part2", 8)]


async def test_a_second_run_takes_up_only_what_is_new_or_changed(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "library.db"
    await work(folder, db)
    (folder / "part0" / "0.md").write_text("# Another title\n")
    (folder / "new.md").write_text("# New\n")
    code, said = await work(folder, db)
    assert code == 0
    assert "34 files, 2 of them new or changed (v1)" in said
    assert "35 jobs wrote to the index 35 times; it has 31 rows for 31 different paths" in said
    titles = await rows(db, "select title from library_document where path like '%/part0/0.md'")
    assert [row[0] for row in titles] == ["Another title"]


async def test_the_same_tree_in_another_folder_is_a_job_of_its_own(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "library.db"
    await work(folder, db)
    other = tmp_path / "other"
    other.mkdir()
    (other / "empty.txt").touch()
    found = (folder / "empty.txt").stat()
    os.utime(other / "empty.txt", ns=(found.st_atime_ns, found.st_mtime_ns))
    _, said = await work(other, db)
    assert "1 files, 1 of them new or changed" in said


async def test_a_database_inside_the_folder_is_no_document(folder: Path) -> None:
    code, said = await work(folder, folder / "library.db")
    assert code == 0
    assert "33 files, 33 of them new or changed" in said


async def test_search_ranks_and_shows_where(folder: Path, tmp_path: Path) -> None:
    await work(folder, tmp_path / "library.db")
    said = StringIO()
    console = Console(file=said, soft_wrap=True, highlight=False)
    assert await look_up(str(folder), str(tmp_path / "library.db"), "word7 common", out=console, err=console) == 0
    assert " 1. part1/7.md" in said.getvalue()
    assert "1 files match 'word7 common'" in said.getvalue()


async def test_a_name_that_is_no_utf_8_is_found_under_its_place_in_the_folder(tmp_path: Path) -> None:
    place, db = tmp_path / "shelf", tmp_path / "library.db"
    place.mkdir()
    (place / os.fsdecode(b"caf\xe9.md")).write_text("# Walrus\n")
    assert (await work(place, db))[0] == 0
    said = StringIO()
    console = Console(file=said, soft_wrap=True, highlight=False)
    await look_up(str(place), str(db), "walrus", out=console, err=console)
    assert said.getvalue().startswith(" 1. caf\\xe9.md")


@pytest.mark.timeout(120)
async def test_killed_again_and_again_it_finishes_the_rest_and_indexes_nothing_twice(
    folder: Path, tmp_path: Path
) -> None:
    db = tmp_path / "library.db"
    kills = ("admit.after_commit", "claim.after_commit:3", "commit_step.before_commit:4", "commit_step.after_commit:2")
    for at, definition in zip((*kills, "commit_step.after_commit:3"), ("v1", "v1", "v1", "v1", "v2"), strict=True):
        command = [sys.executable, "-m", "runtime", "demo", "library", str(folder), "--db", str(db)]
        ended = await anyio.run_process(
            [*command, "--definition", definition, "--concurrency", "4"], env=environment(at), check=False
        )
        assert ended.returncode == 73, f"{at}: {ended.stderr.decode()}"
    code, said = await work(folder, db)
    assert code == 0
    assert "unfinished under v1" in said
    assert "unfinished under v2" in said
    assert f"{SOUND} 66 jobs wrote to the index 66 times; it has 30 rows for 30 different paths" in said
    ((effects, steps),) = await rows(
        db, "select count(*), count(distinct job || ' ' || step) from keepstep_effect"
    )
    assert effects == steps == 33 * 3 + 33 * 4


@pytest.mark.parametrize("before", ["# Old\n", ""], ids=["usable before", "empty before"])
async def test_a_job_of_a_killed_run_never_takes_what_a_newer_one_indexed_out_of_the_index(
    tmp_path: Path, before: str
) -> None:
    place, db = tmp_path / "shelf", tmp_path / "library.db"
    place.mkdir()
    (place / "a.md").write_text(before)
    async with await Store.open(db) as store:
        await _left_in_flight_after_its_first_step(store, place)
    (place / "a.md").write_text("# New walrus\n")
    code, said = await work(place, db, "v2")
    assert code == 0
    assert "2 jobs wrote to the index 2 times; it has 1 rows for 1 different paths" in said
    ((cause, title),) = await rows(db, "select cause, title from library_document")
    assert (cause, title) == (None, "New walrus")
    ((found, counted),) = await rows(
        db, "select (select count(*) from library_text), (select count(*) from library_statistics)"
    )
    assert (found, counted) == (1, 1)


async def _left_in_flight_after_its_first_step(store: Store, place: Path) -> None:
    """What a kill in the second step leaves: a claim whose lease ends only after the next run's jobs are done."""
    manifest = DEFINITIONS["v2"]
    await app.prepare(store)
    await store.switch(manifest.digest, 1)
    (file,) = walk(str(place))
    await store.admit_many([admission(app.name, "v2", str(place), file)])
    gone = Worker("gone", {manifest.digest: manifest})
    (first,) = (await store.claim(1, gone)).claims
    effect = read(str(place / "a.md"), HUGE_BYTES)
    value = (
        {"skipped": effect.cause.value, "detail": effect.detail}
        if isinstance(effect, Skipped)
        else {"bytes": effect.size_bytes, "sha256": effect.sha256, "encoding": effect.encoding}
    )
    assert (await store.commit_step(first.token, value, worker=gone)).verdict == "advanced"
    assert len((await store.claim(1, gone)).claims) == 1

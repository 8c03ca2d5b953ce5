"""Exit code: 0 only after a requested stop; what cannot start ends soon and says why."""

import os
import signal
import sys
from pathlib import Path

import anyio

from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import counted, prepared
from tests.cases.notes import notes, until
from tests.cases.pool import pool, surroundings

WITHIN_S = 5.0


async def live_pids(store: Store) -> set[int]:
    """The processes that have said they live."""
    return {row.pid for row in await store.workers() if row.live}


async def test_c66_a_killed_child_is_replaced_and_the_other_works_on(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    async with pool(db, "--processes", "2") as running:
        await running.ready()
        pids = await live_pids(store)
        assert len(pids) == 2
        assert running.pid not in pids
        victim, other = sorted(pids)
        os.kill(victim, signal.SIGKILL)
        await store.admit("quick", "J", 1)
        await until(counted(store, "done", 1), within_s=2)
        assert notes(db.parent, "begin")[0]["pid"] == other
        await until(lambda: running.log.count("is ready") == 3, within_s=4)
        assert len(await live_pids(store) - {victim}) == 2
        assert "ended with signal SIGKILL" in running.log
        running.send(signal.SIGTERM)
        assert await running.wait() == 0


async def test_c66_a_killed_pool_of_one_process_does_not_end_with_0(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    async with pool(db) as running:
        await running.ready()
        running.send(signal.SIGKILL)
        assert await running.wait() == -signal.SIGKILL


async def test_c67_an_app_that_cannot_be_imported_and_a_missing_directory_end_at_once(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('no settings here')\n")
    missing = tmp_path / "nowhere" / "app.db"
    starts = [
        (tmp_path / "app.db", "broken:app", 2, "no settings here"),
        (tmp_path / "app.db", "absent:app", 2, "there is no module 'absent'"),
        (missing, "tests.cases.apps:app", 69, str(missing)),
    ]
    for flags in ((), ("--processes", "2")):
        for path, app, code, cause in starts:
            begun_at = anyio.current_time()
            line = [sys.executable, "-m", "runtime", "work", app, "--db", str(path), *flags]
            ended = await anyio.run_process(line, env=surroundings(path), cwd=tmp_path, check=False)
            assert anyio.current_time() - begun_at < 2 * WITHIN_S
            assert (ended.returncode, ended.stdout) == (code, b"")
            assert cause in ended.stderr.decode()
            if not flags:
                assert cause in ended.stderr.decode().splitlines()[-1]


async def test_c67_ready_is_said_once_polling_has_begun(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    async with pool(db) as running:
        line = await running.ready()
        assert line.startswith("ready worker=")
        await store.admit("quick", "J", 1)
        await until(counted(store, "done", 1), within_s=1)
        running.send(signal.SIGTERM)
        assert await running.wait() == 0
        assert running.process.stdout is not None
        assert b"".join([part async for part in running.process.stdout]) == b""

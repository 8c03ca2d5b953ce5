"""Start-up race: pools that meet at a file without a schema."""

import sqlite3
import sys
from contextlib import AsyncExitStack, closing
from pathlib import Path

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from runtime.store import statements
from tests.cases.pool import pool, surroundings

POOLS = 4
ROUNDS = 20
NEWEST = statements.numbered("migrations")[-1][0]


class Starter:
    """A process that starts pools when it is told to."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, BufferedByteReceiveStream(process.stdout)

    async def says(self, word: bytes) -> None:
        """Wait for its next line."""
        with anyio.fail_after(20):
            assert await self.stdout.receive_until(b"\n", 80) == word


def migrated_once(path: Path) -> None:
    """The schema is there, and each migration has run once."""
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("pragma user_version").fetchone() == (NEWEST,)
        versions = raw.execute("select version from keepstep_schema order by version").fetchall()
        assert versions == [(number,) for number, _, _ in statements.numbered("migrations")]
        assert raw.execute("select count(*) from keepstep_control").fetchone() == (1,)
        assert raw.execute("pragma quick_check").fetchall() == [("ok",)]


async def test_c53_four_pools_that_start_together_at_a_fresh_path_migrate_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.cases.starts"]
    with (tmp_path / "starts.log").open("wb") as log:
        async with AsyncExitStack() as stack:
            processes = [
                await stack.enter_async_context(
                    await anyio.open_process(command, env=surroundings(tmp_path / "app.db"), stderr=log)
                )
                for _ in range(POOLS)
            ]
            starters = [Starter(process) for process in processes]
            for starter in starters:
                await starter.says(b"READY")
            for number in range(ROUNDS):
                path = tmp_path / f"{number}.db"
                for starter in starters:
                    await starter.stdin.send(f"{path}\n".encode())
                for starter in starters:
                    await starter.says(b"POLLED")
                migrated_once(path)
            for starter in starters:
                await starter.stdin.aclose()
    assert (tmp_path / "starts.log").read_text() == ""


async def test_c53_four_command_lines_that_start_together_all_become_ready(db: Path) -> None:
    async with AsyncExitStack() as stack:
        pools = [await stack.enter_async_context(pool(db)) for _ in range(POOLS)]
        for running in pools:
            assert (await running.ready()).startswith("ready ")
        assert [running.log for running in pools if "Traceback" in running.log] == []
        migrated_once(db)

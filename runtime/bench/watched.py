"""A store whose pool's turns are timed and whose fsyncs are counted."""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.protocol.records import Callback, ClaimRequest, Claims, Commit
from runtime.store.requests import Answers
from runtime.store.sqlite import Raw
from runtime.store.store import Store


class Watched(Store):
    """A store that remembers when its first claim was asked for and its last commit was answered."""

    first_claim_s: float | None = None
    last_commit_s: float = 0.0
    committed: int = 0

    async def __aenter__(self) -> "Watched":
        return self

    async def settle(
        self,
        *,
        commits: Sequence[Commit] = (),
        failures: Sequence[Callback] = (),
        releases: Sequence[Callback] = (),
        quarantines: Sequence[Callback] = (),
        claim: ClaimRequest | None = None,
    ) -> tuple[Mapping[str, Answers], Claims | None]:
        """As the store's, with its times noted."""
        if self.first_claim_s is None and claim is not None:
            self.first_claim_s = time.perf_counter()
        answers = await super().settle(
            commits=commits, failures=failures, releases=releases, quarantines=quarantines, claim=claim
        )
        if commits:
            self.last_commit_s = time.perf_counter()
            self.committed += len(commits)
        return answers

    @property
    def seconds(self) -> float:
        """From the first claim to the last commit."""
        return self.last_commit_s - (self.first_claim_s or self.last_commit_s)

    async def count_fsyncs(self, *, slower_ms: float = 0) -> "Counted":
        """Count the fsyncs of this store's writer from now on; each is made `slower_ms` slower."""

        def count(raw: sqlite3.Connection) -> Counted:
            raw.__class__ = Counted
            assert isinstance(raw, Counted)
            raw.slower_ms = slower_ms
            return raw

        return await self._writer._connection.run(count)


class Counted(Raw):
    """A connection that counts its fsyncs. In WAL mode with `synchronous=FULL` a commit makes one, a checkpoint two;
    not counted is one more for each time that the log begins anew, and what the pool's keeper writes on a connection of
    its own: 4 of 166 in a drain of 5,000 jobs, 12 of 652 in one of 20,000.

    Counted where the engine asks for them: a trace of SQLite's is called for each row of a batch with the whole text
    of its statement, and takes a fifth of what a drain takes.
    """

    fsyncs: int = 0
    slower_ms: float = 0

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """As the driver's."""
        if made := 1 if sql == "commit" else 2 if "wal_checkpoint" in sql else 0:
            self.fsyncs += made
            if self.slower_ms:
                time.sleep(made * self.slower_ms / 1000)
        return super().execute(sql, parameters)

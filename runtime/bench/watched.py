"""A store whose pool's turns are timed and whose statements are counted where they run."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from runtime.protocol.records import Callback, ClaimRequest, Claims, Commit
from runtime.store.requests import Answers
from runtime.store.store import Store

SYNCS = {"commit": 1, "checkpoint": 2}


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

    async def count_statements(self, *, slower_ms: float = 0) -> "Counter[str]":
        """Count statements by their first word from now on; every fsync is made `slower_ms` slower.

        In WAL mode with `synchronous=FULL` a commit makes one fsync and a checkpoint two.
        """
        counts: Counter[str] = Counter()

        def note(sql: str) -> None:
            word = sql.lstrip().split(None, 1)[0].lower()
            kind = "checkpoint" if "wal_checkpoint" in sql else word
            counts[kind] += 1
            if slower_ms and (syncs := SYNCS.get(kind)):
                time.sleep(syncs * slower_ms / 1000)

        await self._writer._connection.run(lambda raw: raw.set_trace_callback(note))
        return counts


def fsyncs(counts: "Counter[str]") -> int:
    """How many fsyncs these statements made."""
    return sum(syncs * counts[kind] for kind, syncs in SYNCS.items())

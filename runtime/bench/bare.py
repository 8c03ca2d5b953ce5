"""The limit: the engine's own statements on a plain connection, with the same durability, without handlers or loop."""

import sqlite3
import time
from pathlib import Path
from typing import Any

from runtime.protocol.errors import ItemError
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Claim, ClaimRequest, Claims, Commit, Worker
from runtime.store.group import Groups
from runtime.store.sqlite import Files, open_writer
from runtime.store.writer import Request

DEADLINE_MS = 10_000


class Bare:
    """Runs groups of requests as the writer would, on a connection that is there already."""

    def __init__(self, raw: sqlite3.Connection, files: Files) -> None:
        self.raw = raw
        self._groups = Groups(files, deadline_ms=DEADLINE_MS)

    def ask(self, *asked: tuple[str, list[Any]]) -> list[list[Any]]:
        """Run these requests as one group; their answers."""
        nobody: Any = None
        group = [Request(verb, items, None, nobody) for verb, items in asked]
        self._groups.run(self.raw, group, lambda: None)
        for request in group:
            if request.error is not None:
                raise request.error
        return [request.results for request in group]

    def claim(self, worker: Worker, limit: int) -> tuple[Claim, ...]:
        """A first claim."""
        ((answer,),) = self.ask(("claim", [ClaimRequest(limit, worker)]))
        return _claims(answer)

    def cycle(self, claims: tuple[Claim, ...], worker: Worker) -> tuple[Claim, ...]:
        """Commit what was claimed and claim as many again, in one transaction."""
        commits: list[Any] = [Commit(claim.token, 1, worker) for claim in claims]
        answers, (asked,) = self.ask(("commit_step", commits), ("claim", [ClaimRequest(len(claims), worker)]))
        for answer in answers:
            if isinstance(answer, ItemError):
                raise answer
        return _claims(asked)

    def close(self) -> None:
        """Give the locks' descriptors back."""
        self._groups.close()


def _claims(answer: Any) -> tuple[Claim, ...]:
    if not isinstance(answer, Claims):
        raise answer
    return answer.claims


async def steps_per_s(path: Path, manifest: Manifest, *, concurrency: int) -> float:
    """Steps committed a second until nothing is left, `concurrency` in one transaction."""
    worker = Worker.declaring("bare", manifest)
    files = Files.check(path, create=False)

    def work(raw: sqlite3.Connection) -> float:
        bare = Bare(raw, files)
        done = 0
        try:
            started = time.perf_counter()
            claims = bare.claim(worker, concurrency)
            while claims:
                done += len(claims)
                claims = bare.cycle(claims, worker)
            return done / (time.perf_counter() - started)
        finally:
            bare.close()

    connection = await open_writer(files, durability="full", deadline_ms=DEADLINE_MS)
    try:
        return await connection.run(work)
    finally:
        await connection.close()

"""The limit: the engine's own statements on a plain connection, with the same durability, without handlers or loop."""

import math
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any, NamedTuple

from runtime.bench import ground
from runtime.protocol.errors import ItemError
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Claim, ClaimRequest, Claims, Commit, Worker
from runtime.store.group import Groups
from runtime.store.guard import Guard
from runtime.store.sqlite import BESIDE, Files, Raw
from runtime.store.writer import Request

DEADLINE_MS = 10_000
NAME = "same statements, plain sqlite3"


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


class Recorder(Raw):
    """A connection that keeps what it is asked to run."""

    calls: list[tuple[bool, str, Any]]

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """As the driver's."""
        self.calls.append((False, sql, parameters))
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        """As the driver's."""
        rows = list(parameters)
        self.calls.append((True, sql, rows))
        return super().executemany(sql, rows)


class Replayed(NamedTuple):
    """How the statements went: steps committed a second, as they are and with every commit made slower."""

    steps_per_s: float
    slower_steps_per_s: float
    fsyncs_per_step: float


def replay(path: Path, manifest: Manifest, concurrency: int, slower_ms: float) -> Replayed:
    """Work off what is queued, `concurrency` in one transaction: the engine's statements with their parameters, which
    are recorded in a copy of the file, run again on a plain connection; in a second copy with every commit `slower_ms`
    slower, if that is not 0."""
    names = ("recorded", "slower") if slower_ms else ("recorded",)
    copies = [Path(shutil.copy(path, path.with_name(f"{path.name}-{name}"))) for name in names]
    try:
        calls, steps = _recorded(copies[0], manifest, concurrency)
        slower = steps / _seconds(copies[-1], calls, slower_ms) if slower_ms else math.nan
        syncs = sum(sql == "commit" for _, sql, _ in calls)
        return Replayed(steps / _seconds(path, calls, 0), slower, syncs / steps)
    finally:
        for copy in copies:
            for companion in ("", *BESIDE):
                Path(f"{copy}{companion}").unlink(missing_ok=True)


def _seconds(path: Path, calls: list[tuple[bool, str, Any]], slower_ms: float) -> float:
    raw = ground.connect(path)
    try:
        raw.execute("pragma foreign_keys = on")
        started = time.perf_counter()
        for many, sql, parameters in calls:
            if many:
                raw.executemany(sql, parameters)
                continue
            if slower_ms and sql == "commit":
                time.sleep(slower_ms / 1000)
            raw.execute(sql, parameters).fetchall()
        return time.perf_counter() - started
    finally:
        raw.close()


def _recorded(path: Path, manifest: Manifest, concurrency: int) -> tuple[list[tuple[bool, str, Any]], int]:
    worker = Worker.declaring("bare", manifest)
    raw = sqlite3.connect(path, isolation_level=None, factory=Recorder)
    raw.calls = []
    raw.guard = Guard(raw)
    bare = Bare(raw, Files.check(path, create=False))
    try:
        raw.execute("pragma foreign_keys = on")
        raw.execute("pragma wal_autocheckpoint = 0")
        raw.calls.clear()
        done = 0
        claims = bare.claim(worker, concurrency)
        while claims:
            done += len(claims)
            claims = bare.cycle(claims, worker)
        return raw.calls, done
    finally:
        bare.close()
        raw.close()

"""The limit: the engine's own statements on a plain connection, with the same durability, without handlers or loop."""

import time
from pathlib import Path
from typing import Any

from runtime.bench import ground
from runtime.protocol.errors import ItemError
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import ClaimRequest, Claims, Commit, Worker
from runtime.store.group import run_group
from runtime.store.sqlite import Files
from runtime.store.transaction import Names
from runtime.store.turnstile import Turnstile
from runtime.store.writer import Request

DEADLINE_MS = 10_000


class Bare:
    """One plain connection that runs groups of requests as the writer would, without an event loop."""

    def __init__(self, path: Path) -> None:
        self.files = Files.check(path, create=False)
        self.raw = ground.connect(path)
        self.names = Names()
        self.turnstile = Turnstile(self.files.path)

    def ask(self, *asked: tuple[str, list[Any]]) -> list[list[Any]]:
        """Run these requests as one group; their answers."""
        nobody: Any = None
        group = [Request(verb, items, None, nobody) for verb, items in asked]
        run_group(self.raw, group, self.names, self.turnstile, self.files, DEADLINE_MS)
        for request in group:
            if request.error is not None:
                raise request.error
        return [request.results for request in group]

    def close(self) -> None:
        """Close the connection and give the locks' descriptors back."""
        self.turnstile.close()
        self.raw.close()


def steps_per_s(path: Path, manifest: Manifest, *, concurrency: int, most: int | None = None) -> float:
    """Steps committed a second until nothing is left (or `most` are), `concurrency` in one transaction."""
    bare = Bare(path)
    worker = Worker.declaring("bare", manifest)
    claim = ("claim", [ClaimRequest(concurrency, worker)])
    done = 0
    try:
        started = time.perf_counter()
        claims = _claims(bare.ask(claim)[0])
        while claims and (most is None or done < most):
            commits: list[Any] = [Commit(each.token, 1, worker) for each in claims]
            answers, asked = bare.ask(("commit_step", commits), claim)
            for answer in answers:
                if isinstance(answer, ItemError):
                    raise answer
            done += len(answers)
            claims = _claims(asked)
        return done / (time.perf_counter() - started)
    finally:
        bare.close()


def _claims(answers: list[Any]) -> tuple[Any, ...]:
    (answer,) = answers
    if not isinstance(answer, Claims):
        raise answer
    return answer.claims

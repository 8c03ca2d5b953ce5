"""Model and store driven by the same random operations: batches with duplicates, stale and changed tokens, old
callbacks delivered again, time jumps, workers with different declared manifests. After every step both agree and what
must hold holds. `KEEPSTEP_MODEL_RUNS=5000` makes it long and random; without it the runs are the same each time.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from runtime.protocol.records import (
    Admission,
    Callback,
    ClaimRequest,
    Commit,
    Migration,
    Operation,
    Renewal,
    Setting,
    Switch,
    Token,
    Transition,
)
from tests.conformance.walk import DIGESTS, NAMED, SIDE, V1, V2, WORKERS, Walk

RUNS = int(os.environ.get("KEEPSTEP_MODEL_RUNS", "0"))
# about a fifth of the runs that are tried end early, where one was varied from another
TRIED, LEAST, STEPS = 250, 200, 50

DT = st.sampled_from((0, 0, 0, 0, 1, 1, 2, 3, 6, 20))
WORKER = st.sampled_from(("all",) * 4 + tuple(WORKERS))
COMMAND = st.sampled_from((None,) * 9 + ("c1", "c2", "c3"))
DIGEST = st.sampled_from((*("V1", "V2", "V3", "LATER") * 2, "SIDE", "nothing"))
CHANGED = st.sampled_from((None,) * 12 + ("job", "binding_revision", "generation", "cursor", "digest"))
PICK = st.tuples(st.integers(0, 10), CHANGED)
PICKS = st.lists(PICK, min_size=1, max_size=4)
OFF_BY = st.sampled_from((0, 0, 0, 0, 0, -1, 1))
SOME = st.integers(0, 30)
ADMISSION = st.builds(
    lambda flow, width, **fields: Admission(flow=flow, width=width if flow else None, **fields),
    workflow=st.sampled_from(("points", "points", "points", "side", "lost")),
    id=st.integers(0, 24).map(lambda n: f"j{n}"),
    payload=st.sampled_from(({"n": 0, "m": [1]}, {"m": [1.0], "n": 0}, {"n": 0, "m": [1]}, {"n": 1})),
    flow=st.sampled_from((None, "a", "a", "b", "c", "d")),
    width=st.sampled_from((None, None, 1, 2, 3)),
)
VALUE = st.sampled_from((0, 1, "x", {"a": [1.5, None]}, float("nan")))
AFTER = st.sampled_from((None, None, None, 0, 4))
ACTION = st.sampled_from(("drain", "pause", "resume", "next", "next", "next"))
SETTING = st.one_of(
    st.builds(Setting, st.sampled_from(("capacity", "flow_capacity")), st.sampled_from((None, 1, 4, 7))),
    st.builds(Setting, st.just("newcomers"), st.sampled_from(("behind", "first"))),
)
WIDTH = st.builds(
    Setting, st.just("width"), st.sampled_from((None, None, 1, 2, 4)), st.sampled_from(("a", "b", "b", "c", "nowhere"))
)


START = (
    ("points", "j0", {"n": 0, "m": [1]}, "a"),
    ("side", "j1", {"n": 0, "m": [1]}, "a"),
    ("points", "j2", {"n": 0, "m": [1]}, "b", 2),
    ("points", "j3", {"n": 0, "m": [1]}, "b", 2),
    ("points", "j5", {"n": 0, "m": [1]}, "b", 2),
    ("side", "j4", {"n": 1}),
)


class Machine(RuleBasedStateMachine):
    """The rules are the verbs; what is drawn is resolved against what there is."""

    portal: ClassVar[BlockingPortal]
    folder: ClassVar[Path]
    heard: ClassVar[Counter[tuple[str, str]]]
    numbers: ClassVar[Iterator[int]]
    whole: ClassVar[int]

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.path = self.folder / f"{next(self.numbers)}.db"
        self.walk = Walk(self.portal, self.path, self.heard)
        self.walk.many("register", [V1, V2, SIDE], 0)
        self.walk.many("switch", [Switch(V1.digest, 0), Switch(SIDE.digest, 0)], 0)
        self.walk.many("admit", [Admission(*start) for start in START], 0)
        self.walk.many("switch", [Switch(V2.digest, 1)], 0)
        self.walk.many("admit", [Admission("points", "j6", {"n": 0, "m": [1]}, "c")], 0)
        self.walk.claim(5, WORKERS["all"], 0)

    def teardown(self) -> None:
        try:
            self.walk.check_end()
            # one look before the first step, one after each
            Machine.whole += self.looks == STEPS + 1
        finally:
            self.walk.close()
            for part in self.folder.glob(f"{self.path.name}*"):
                part.unlink()

    @invariant()
    def agrees(self) -> None:
        self.looks += 1
        self.walk.check()

    # what is drawn, against what there is

    def now(self, dt: int) -> int:
        return self.walk.model.tick + dt

    def token(self, pick: tuple[int, str | None]) -> Token:
        index, changed = pick
        live = [job.token for job in self.walk.model.jobs.values() if job.state == "inflight"]
        tokens = live if live and index < 8 else self.walk.tokens or [Token("nobody", 0, 1, 0, V1.digest)]
        token = tokens[-1 - index % len(tokens)]
        if changed is None:
            return token
        old = getattr(token, changed)
        other = "nobody" if changed == "job" else old + 1 if isinstance(old, int) else list(DIGESTS.values())[index % 6]
        return msgspec.structs.replace(token, **{changed: other})

    def job(self, number: int, *states: str) -> tuple[str, int, int]:
        """A job's name, generation and binding revision; of five picks four are in one of these states if any is."""
        jobs = list(self.walk.model.jobs.values())
        fitting = [job for job in jobs if job.state in states] if number % 5 else []
        if not jobs or number == 30:
            return "nobody", 0, 0
        job = (fitting or jobs)[-1 - number % len(fitting or jobs)]
        return job.id, job.generation, job.binding

    def callbacks(self, picks: list[tuple[int, str | None]]) -> list[Callback]:
        return [Callback(self.token(pick), "tried", "all") for pick in picks]

    # workers

    @rule(items=st.lists(ADMISSION, min_size=1, max_size=5), dt=DT)
    def admit(self, items: list[Admission], dt: int) -> None:
        self.walk.many("admit", items, self.now(dt))

    @rule(limit=st.integers(1, 5), worker=WORKER, dt=DT)
    def claim(self, limit: int, worker: str, dt: int) -> None:
        self.walk.claim(limit, WORKERS[worker], self.now(dt))

    @rule(items=st.lists(st.tuples(PICK, VALUE, WORKER), min_size=1, max_size=4), dt=DT)
    def commit_step(self, items: list[Any], dt: int) -> None:
        commits = [Commit(self.token(pick), value, WORKERS[worker]) for pick, value, worker in items]
        self.walk.many("commit_step", commits, self.now(dt))

    @rule(picks=PICKS, after=AFTER, dt=DT)
    def fail(self, picks: list[Any], after: int | None, dt: int) -> None:
        items = [msgspec.structs.replace(item, after=after) for item in self.callbacks(picks)]
        self.walk.many("fail", items, self.now(dt))

    @rule(verb=st.sampled_from(("release", "quarantine")), picks=PICKS, dt=DT)
    def give_back(self, verb: str, picks: list[Any], dt: int) -> None:
        self.walk.many(verb, self.callbacks(picks), self.now(dt))

    @rule(picks=PICKS, dt=DT)
    def renew(self, picks: list[Any], dt: int) -> None:
        self.walk.many("renew", [Renewal(self.token(pick), "all") for pick in picks], self.now(dt))

    @rule(picks=PICKS, limit=st.integers(1, 4), worker=WORKER)
    def settle(self, picks: list[Any], limit: int, worker: str) -> None:
        tokens = list(dict.fromkeys(self.token(pick) for pick in picks))
        lost = [[Callback(token, "tried")] for token in tokens[1:]] + [[], [], []]
        commits = [Commit(tokens[0], 7, WORKERS["all"])] * 2
        self.walk.settle(commits, lost[0], lost[1], lost[2], ClaimRequest(limit, WORKERS[worker]))

    @rule(picks=PICKS, admissions=st.lists(ADMISSION, min_size=1, max_size=2), worker=WORKER, dt=DT)
    def together(self, picks: list[Any], admissions: list[Admission], worker: str, dt: int) -> None:
        tokens = [self.token(pick) for pick in picks]
        requests: list[tuple[str, list[Any]]] = [
            ("commit_step", [Commit(token, 7, WORKERS["all"]) for token in tokens]),
            ("admit", admissions),
            ("fail", [Callback(token, "tried") for token in reversed(tokens)]),
            ("claim", [ClaimRequest(2, WORKERS[worker])]),
        ]
        self.walk.together(requests, self.now(dt))

    @rule(dt=DT)
    def sweep(self, dt: int) -> None:
        self.walk.sweep(self.now(dt))

    @precondition(lambda self: self.walk.model.mode != "paused")
    @rule(rounds=st.integers(1, 6))
    def work(self, rounds: int) -> None:
        for _ in range(rounds):
            before = len(self.walk.tokens)
            self.walk.claim(8, WORKERS["all"], self.now(0))
            commits = [Commit(token, 7, WORKERS["all"]) for token in self.walk.tokens[before:]]
            if commits:
                self.walk.many("commit_step", commits, self.now(0))

    # people

    @rule(verb=st.sampled_from(("redrive", "recover", "quarantine_job")), items=st.lists(
        st.tuples(SOME, OFF_BY, st.none() | DIGEST, st.booleans(), COMMAND), min_size=1, max_size=3), dt=DT)
    def operate(self, verb: str, items: list[Any], dt: int) -> None:
        states = {"redrive": ("quarantined",), "recover": ("inflight",), "quarantine_job": ("ready", "inflight")}[verb]
        made = []
        for number, off_by, to, checked, command in items:
            name, generation, _ = self.job(number, *states)
            generation = max(0, generation + off_by)
            bind = {} if verb == "quarantine_job" or to is None else {"to": DIGESTS[to], "effects_checked": checked}
            made.append(Operation(name, generation, "tried", command_id=command, **bind))
        self.walk.many(verb, made, self.now(dt))

    @rule(items=st.lists(st.tuples(SOME, OFF_BY, DIGEST, st.booleans(), COMMAND), min_size=1, max_size=3), dt=DT)
    def migrate(self, items: list[Any], dt: int) -> None:
        made = []
        for number, off_by, to, checked, command in items:
            name, _, binding = self.job(number, "ready")
            made.append(Migration(name, max(0, binding + off_by), DIGESTS[to], "tried", checked, command_id=command))
        self.walk.many("migrate", made, self.now(dt))

    @rule(items=st.lists(st.tuples(DIGEST, OFF_BY, COMMAND), min_size=1, max_size=2), dt=DT)
    def switch(self, items: list[Any], dt: int) -> None:
        made = []
        for digest, off_by, command in items:
            known = NAMED.get(digest)
            revision = self.walk.model.routes.get(known.name if known else "", ("", 0))[1]
            made.append(Switch(DIGESTS[digest], max(0, revision + off_by), command_id=command))
        self.walk.many("switch", made, self.now(dt))

    @rule(items=st.lists(st.sampled_from(tuple(NAMED)), min_size=1, max_size=2), dt=DT)
    def register(self, items: list[str], dt: int) -> None:
        self.walk.many("register", [NAMED[name] for name in items], self.now(dt))

    @rule(action=ACTION, off_by=OFF_BY, command=COMMAND, dt=DT)
    def transition(self, action: str, off_by: int, command: str | None, dt: int) -> None:
        if action == "next":
            action = {"open": "drain", "draining": "pause", "paused": "resume"}[self.walk.model.mode]
        version = max(0, self.walk.model.version + off_by)
        self.walk.single("transition", Transition(action, version, command_id=command), self.now(dt))

    @rule(setting=SETTING, command=COMMAND, dt=DT)
    def set(self, setting: Setting, command: str | None, dt: int) -> None:
        self.walk.single("set", msgspec.structs.replace(setting, command_id=command), self.now(dt))

    @rule(setting=WIDTH, command=COMMAND, dt=DT)
    def set_width(self, setting: Setting, command: str | None, dt: int) -> None:
        self.walk.single("set", msgspec.structs.replace(setting, command_id=command), self.now(dt))

    @precondition(lambda self: self.walk.model.tick > 0)
    @rule(verb=st.sampled_from(("claim", "admit", "commit", "fail", "transition", "switch", "sweep", "redrive")))
    def backwards(self, verb: str) -> None:
        token = self.token((0, None))
        calls: dict[str, Any] = {
            "claim": lambda store, now: store.claim(1, WORKERS["all"], now=now),
            "admit": lambda store, now: store.admit("points", "early", 1, now=now),
            "commit": lambda store, now: store.commit_step(token, 1, worker=WORKERS["all"], now=now),
            "fail": lambda store, now: store.fail(token, "early", now=now),
            "transition": lambda store, now: store.transition("drain", self.walk.model.version, now=now),
            "switch": lambda store, now: store.switch(V1.digest, 1, now=now),
            "sweep": lambda store, now: store.sweep(now=now),
            "redrive": lambda store, now: store.redrive(token.job, token.generation, "early", now=now),
        }
        self.walk.backwards(calls[verb])


@contextmanager
def _scratch() -> Iterator[Path]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


WORDS = {
    "admit": "accepted replay conflict closed full NoRoute",
    "claim": "some none",
    "commit_step": "advanced done stale expired unknown Undeclared InvalidValue",
    "fail": "retry quarantined stale expired unknown",
    "release": "released stale expired unknown",
    "quarantine": "quarantined stale expired unknown",
    "renew": "renewed stale expired unknown",
    "redrive": "redriven stale refused conflict",
    "recover": "recovered stale refused conflict",
    "quarantine_job": "quarantined stale refused conflict",
    "migrate": "migrated stale refused conflict",
    "switch": "switched stale refused conflict",
    "register": "registered known",
    "transition": "draining paused open stale refused busy conflict",
    "set": "set refused unknown conflict",
}


@pytest.mark.timeout(180 if RUNS <= 200 else 0)
def test_model_and_store_agree_on_random_operations() -> None:
    with start_blocking_portal(backend="asyncio") as portal, _scratch() as folder:
        Machine.portal, Machine.folder = portal, folder
        Machine.heard, Machine.numbers, Machine.whole = Counter(), count(), 0
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=RUNS or TRIED,
                stateful_step_count=STEPS,
                deadline=None,
                derandomize=not RUNS,
                database=None,
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
            ),
        )
    assert RUNS or Machine.whole >= LEAST
    expected = [(verb, word) for verb, words in WORDS.items() for word in words.split()]
    silent = [pair for pair in expected if not Machine.heard[pair]]
    assert len(silent) <= 3, f"the walks never led to {silent}: {Machine.heard}"

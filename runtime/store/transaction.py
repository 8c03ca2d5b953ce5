"""One write transaction: the statements at hand, the control row, and what is written once at its end.

Differences (tally, flows, control) are kept here while it runs; they go with it when it is rolled back.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from runtime.protocol.canonical import check_integer
from runtime.protocol.errors import ClockBackwards, StoreError
from runtime.protocol.lifecycle import DONE, READY, Definition, Facts, Phase, Policy, occupies
from runtime.store import points, statements

SQL = statements.every()
SWEEP_LIMIT = 1_000


def as_json(value: object) -> str:
    """A batch of numbers or texts for `json_each`; also of what counts as a text, and of a lone surrogate, which is no
    row's equal."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError):
        return json.dumps(value)


class Control(msgspec.Struct):
    """How the store stands: the one row that says so, then the store's own counters."""

    store_id: str
    clock: str
    tick: int
    mode: str
    version: int
    pause_version: int | None
    capacity: int | None
    flow_capacity: int | None
    newcomers: str
    ticket: int
    unfinished: int
    effects: int
    releases: int
    last_job: int

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> "Control":
        """From the rows of `load_control`; `StoreError` if there is none."""
        if not rows:
            raise StoreError("the control row or one of the counters is missing: see `python -m runtime doctor`")
        return cls(*rows[0])


COUNTERS = Control.__struct_fields__.index("ticket")
# the tally's rows of no definition, in the order of the fields: their states begin where a job's end
OF_STORE, FIRST_COUNTER = 0, 6


class Names:
    """What a process may remember: definitions never change, a worker's number neither. Committed facts only."""

    def __init__(self) -> None:
        self.by_id: dict[int, Definition] = {}
        self.by_digest: dict[str, Definition] = {}
        self.workers: dict[str, int] = {}

    def learn(self, other: "Names") -> None:
        """Take over what a committed transaction found."""
        self.by_id.update(other.by_id)
        self.by_digest.update(other.by_digest)
        self.workers.update(other.workers)


class Transaction:
    """What a verb works with. `verb` is the one that runs now; `now` its time."""

    def __init__(self, raw: sqlite3.Connection, names: Names, wall_ms: int, *, sweep_limit: int = SWEEP_LIMIT) -> None:
        self.raw = raw
        self.names = names
        self.found = Names()
        self.wall_ms = wall_ms
        self.sweep_limit = sweep_limit
        self.verb = ""
        self.now = wall_ms
        self._control: Control | None = None
        self._before: tuple[Any, ...] = ()
        self._tally: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._flows: dict[int, list[int]] = {}
        self._history: list[tuple[Any, ...]] = []
        self._refusals: list[tuple[Any, ...]] = []

    # statements

    def rows(self, name: str, params: Mapping[str, Any] | Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one named statement and take all its rows; then its point."""
        found = self.raw.execute(SQL[name], params).fetchall()
        points.reach(self.verb, name)
        return found

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run one named statement over bound rows of values; then its point."""
        self.raw.executemany(SQL[name], rows)
        points.reach(self.verb, name)

    # time and control

    def begin(self, verb: str, now: int | None) -> None:
        """A verb's turn comes: its time. A logical clock never goes back."""
        self.verb = verb
        control = self.control
        points.reach(verb, "load_control")
        if control.clock == "wall":
            self.now = self.wall_ms
            return
        self.now = control.tick if now is None else check_integer(now, "now")
        if self.now < control.tick:
            raise ClockBackwards(self.now, control.tick)
        control.tick = self.now

    @property
    def control(self) -> Control:
        """The control row, read once."""
        if self._control is None:
            rows = self.raw.execute(SQL["transaction.load_control"]).fetchall()
            self._control = Control.of(rows)
            self._before = rows[0]
        return self._control

    # names

    def definition(self, id: int) -> Definition:  # noqa: A002  the column's own word
        """A registered definition by its number."""
        known = self.names.by_id.get(id) or self.found.by_id.get(id)
        if known is None:
            self._load(ids=[id])
            known = self.found.by_id[id]
        return known

    def definitions(self, digests: Iterable[str]) -> dict[str, Definition]:
        """The registered ones of these digests."""
        wanted = set(digests)
        missing = [digest for digest in wanted if self._by_digest(digest) is None]
        if missing:
            self._load(digests=missing)
        return {digest: known for digest in wanted if (known := self._by_digest(digest)) is not None}

    def _by_digest(self, digest: str) -> Definition | None:
        return self.names.by_digest.get(digest) or self.found.by_digest.get(digest)

    def _load(self, ids: Sequence[int] = (), digests: Sequence[str] = ()) -> None:
        params = {"ids": as_json(ids), "digests": as_json(digests)}
        for number, digest, workflow in self.rows("transaction.definitions", params):
            steps = self.rows("transaction.policies", {"definition": number})
            policies = tuple(Policy(*(*row[:6], bool(row[6]))) for row in steps)
            found = Definition(number, digest, workflow, policies)
            self.found.by_id[number] = self.found.by_digest[digest] = found

    def worker(self, name: str | None) -> int | None:
        """A worker's number, given at first sight."""
        if name is None:
            return None
        known = self.names.workers.get(name) or self.found.workers.get(name)
        if known is None:
            params = {"name": name}
            rows = self.rows("transaction.worker", params) or self.rows("transaction.new_worker", params)
            known = self.found.workers[name] = rows[0][0]
        return known

    # jobs

    def facts(self, keys: Iterable[str]) -> dict[str, Facts]:
        """What is known of these jobs, by identity."""
        rows = self.rows("transaction.facts", {"keys": as_json(list(dict.fromkeys(keys)))})
        return {row[1]: Facts(*row) for row in rows}

    def move(self, facts: Facts, phase: Phase, *, flow_changed: bool = False) -> None:
        """Note that a job changes its phase; its flow and the counts are written by `flush` and `finish`."""
        before = facts.state
        if not facts.anonymous:
            done = phase == DONE
            delta = occupies(facts.width, phase) - occupies(facts.width, before)
            if delta or done or flow_changed or READY in (before, phase):
                entry = self._flows.setdefault(facts.flow, [facts.flow, 0, 0])
                entry[1] += delta
                entry[2] -= done
        if before != phase:
            self._tally[facts.definition, before] -= 1
            self._tally[facts.definition, phase] += 1
        facts.state = phase

    def count(self, definition: int, phase: Phase, n: int) -> None:
        """Note a difference in the number of jobs of a definition in a phase."""
        self._tally[definition, phase] += n

    def pending(self) -> list[tuple[int, int]]:
        """Differences of the tally by phase that are not written yet."""
        return [(state, n) for (_, state), n in self._tally.items() if n]

    def touch(self, flow: int, unfinished: int = 0) -> None:
        """Note that a flow's next job must be looked up anew."""
        self._flows.setdefault(flow, [flow, 0, 0])[2] += unfinished

    def put(self, changed: Iterable[Facts]) -> None:
        """Write jobs back as they are known now."""
        rows = [msgspec.structs.asdict(facts) for facts in changed]
        if rows:
            self.many("transaction.put", rows)

    def note(self, facts: Facts, what: str, why: str | None) -> None:
        """A row of history about a job as it is known now."""
        row = (facts.id, facts.cursor, facts.generation, facts.worker, self.now, what, why, self.now)
        self._history.append(row)

    def refuse(self, facts: Facts, step: int, generation: int, worker: str | None, why: str) -> None:
        """A row of history about a refused write; repeats are counted in one row."""
        row = (facts.id, step, generation, self.worker(worker), self.now, why, self.now)
        self._refusals.append(row)

    def flush(self) -> None:
        """Write history and refresh the flows that were touched, so that a following verb sees them."""
        if self._history:
            self.many("transaction.history", self._history)
            self._history = []
        if self._refusals:
            self.many("transaction.refusals", self._refusals)
            self._refusals = []
        if self._flows:
            self.rows("transaction.refresh", {"flows": as_json(list(self._flows.values()))})
            self._flows = {}

    def finish(self, verbs: Iterable[str]) -> None:
        """Write what is written once: the differences of the tally and of the counters, and the control row."""
        before = self._before
        after = before if self._control is None else msgspec.structs.astuple(self._control)
        differences = [(definition, state, n) for (definition, state), n in self._tally.items() if n]
        differences += [
            (OF_STORE, counter, now - then)
            for counter, (now, then) in enumerate(zip(after[COUNTERS:], before[COUNTERS:], strict=True), FIRST_COUNTER)
            if now != then
        ]
        if differences:
            self.raw.executemany(SQL["transaction.tally"], differences)
            points.reach_each(verbs, "tally")
        if self._control is not None and after[:COUNTERS] != before[:COUNTERS]:
            self.raw.execute(SQL["transaction.control"], msgspec.structs.asdict(self._control))
            points.reach_each(verbs, "control")

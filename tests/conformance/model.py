"""The reference model: the contract, one item at a time, in plain Python; slow, and meant to be read in one sitting.

No batches, no tables, no indexes: each verb looks at every job it needs to. Jobs, flows and settings are plain objects
that a test compares with the store after every step. `at(now)` sets the clock for what follows. Section numbers are
the contract's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runtime.protocol.canonical import canonical
from runtime.protocol.errors import ClockBackwards, NoRoute, Undeclared
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Token

Taken = tuple[Token, int, int, int, int]  # token, ticket, lease_until, attempts, lifetime attempts


class Reply(NamedTuple):
    """A verdict, and the fields that the answer must carry beside it."""

    verdict: str
    carries: Mapping[str, Any] = {}


@dataclass
class Flow:
    """A line of jobs. `width` None: ordered. `age` orders flows by creation."""

    name: str | None
    width: int | None
    served: int
    age: int
    next_seq: int = 1


@dataclass
class Job:
    """A promise. `lapsed`: its lease was swept and its generation has not risen since."""

    id: str
    workflow: str
    flow: Flow
    seq: int
    payload: bytes
    accepted: str
    current: str
    binding: int = 0
    state: str = "ready"
    cursor: int = 0
    generation: int = 0
    attempts: int = 0
    lifetime: int = 0
    due: int | None = None
    since: int = 0
    lease: int = 0
    lapsed: bool = False
    worker: str | None = None
    events: int = 0  # failures, lapses, releases and quarantines by workers: rows of history
    refused: int = 0  # late writes that were refused, renewals apart: counted in rows of history
    effects: list[tuple[int, str, str, Any]] = field(default_factory=list)

    @property
    def token(self) -> Token:
        return Token(self.id, self.binding, self.generation, self.cursor, self.current)


class Model:
    """One store."""

    def __init__(self) -> None:
        self.tick = 0
        self.ticket = 0
        self.mode = "open"
        self.version = 0
        self.newcomers = "behind"
        self.capacity: int | None = None
        self.flow_capacity: int | None = None
        self.definitions: dict[str, Manifest] = {}
        self.routes: dict[str, tuple[str, int]] = {}
        self.jobs: dict[str, Job] = {}
        self.flows: list[Flow] = []
        self.audit: list[tuple[str, str]] = []  # verb, subject
        self.chain: dict[str, list[tuple[str, str]]] = {}  # job → migrations, from digest to digest
        self.receipts: dict[str, tuple[tuple[Any, ...], Reply]] = {}

    # §7 time

    def at(self, now: int) -> None:
        """Every answered write moves the tick; a smaller one is an error."""
        if now < self.tick:
            raise ClockBackwards(now, self.tick)
        self.tick = now

    def step(self, job: Job) -> Step:
        return self.definitions[job.current].steps[job.cursor]

    def unfinished(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.state != "done"]

    def queue(self, flow: Flow) -> list[Job]:
        """A flow's unfinished jobs in their order."""
        return sorted((job for job in self.unfinished() if job.flow is flow), key=lambda job: job.seq)

    # §3 definitions

    def register(self, manifest: Manifest) -> Reply:
        known = manifest.digest in self.definitions
        self.definitions[manifest.digest] = manifest
        return Reply("known" if known else "registered", {"digest": manifest.digest})

    def switch(self, digest: str, expected: int) -> Reply:
        if digest not in self.definitions:
            return Reply("refused")
        workflow = self.definitions[digest].name
        _, revision = self.routes.get(workflow, ("", 0))
        if revision != expected:
            return Reply("stale", {"revision": revision})
        self.routes[workflow] = (digest, revision + 1)
        self.audit.append(("switch", workflow))
        return Reply("switched", {"revision": revision + 1})

    # §4 admission

    def admit(self, workflow: str, name: str, payload: Any, flow: str | None, width: int | None) -> Reply:
        body = canonical(payload)
        if (known := self.jobs.get(name)) is not None:
            same = (known.workflow, known.flow.name, known.payload) == (workflow, flow, body)
            return Reply("replay" if same else "conflict")
        if self.mode != "open":
            return Reply("closed")
        lane = next((one for one in self.flows if flow is not None and one.name == flow), None)
        if self.capacity is not None and len(self.unfinished()) >= self.capacity:
            return Reply("full")
        if lane is not None and self.flow_capacity is not None and len(self.queue(lane)) >= self.flow_capacity:
            return Reply("full")
        if workflow not in self.routes:
            raise NoRoute(workflow)
        if lane is None:
            served = self.ticket if self.newcomers == "behind" else 0
            lane = Flow(flow, width if flow is not None else None, served, len(self.flows))
            self.flows.append(lane)
        elif not self.queue(lane) and self.newcomers == "behind":
            lane.served = self.ticket
        digest = self.routes[workflow][0]
        self.jobs[name] = Job(name, workflow, lane, lane.next_seq, body, digest, digest)
        lane.next_seq += 1
        return Reply("accepted", {"width": lane.width} if flow is not None else {})

    # §5 claims, §7 sweep

    def sweep(self) -> int:
        """Backoffs that are over, and `retry` leases that have lapsed."""
        moved = 0
        for job in self.unfinished():
            if job.state == "ready" and job.due is not None and job.due <= self.tick:
                job.due = None
                moved += 1
            elif job.state == "inflight" and self._over(job):
                spent = job.attempts >= self.step(job).budget
                job.state = "quarantined" if spent else "ready"
                job.lapsed = True
                job.events += 1
                moved += 1
        return moved

    def next_due(self) -> int | None:
        """When the clock next acts on a job."""
        waiting = [job.due for job in self.unfinished() if job.state == "ready" and job.due is not None]
        held = [job for job in self.unfinished() if job.state == "inflight" and self.step(job).on_lapse == "retry"]
        return min([*waiting, *(job.lease + 1 for job in held)], default=None)

    def _over(self, job: Job) -> bool:
        return self.step(job).on_lapse == "retry" and self.tick > job.lease

    def _next(self, flow: Flow) -> Job | None:
        """The job that a flow offers now, whoever may run it."""
        queue = self.queue(flow)
        able = [job for job in queue if job.state == "ready" and job.due is None]
        if flow.width is None:
            return queue[0] if queue and queue[0] in able else None
        taken = sum(job.state == "inflight" for job in queue)
        return able[0] if able and taken < flow.width else None

    def claim(self, limit: int, worker: str, declared: Iterable[str]) -> list[Taken]:
        """`limit` claims in a row, each of the claimable flow with the smallest `served`, then the oldest."""
        if self.mode == "paused":
            return []
        self.sweep()
        digests = set(declared)
        taken: list[Taken] = []
        while len(taken) < limit:
            offers = [(flow, job) for flow in self.flows if (job := self._next(flow)) and job.current in digests]
            if not offers:
                break
            flow, job = min(offers, key=lambda offer: (offer[0].served, offer[0].age))
            self.ticket += 1
            flow.served = self.ticket
            job.generation, job.attempts, job.lifetime = job.generation + 1, job.attempts + 1, job.lifetime + 1
            job.state, job.lapsed, job.worker, job.since = "inflight", False, worker, self.tick
            job.lease = self.tick + self.step(job).lease
            taken.append((job.token, self.ticket, job.lease, job.attempts, job.lifetime))
        return taken

    # §6 and §7 callbacks

    def _live(self, token: Token, noted: int = 1) -> Job | Reply:
        """The job that this token may write to, or the refusal."""
        job = self.jobs.get(token.job)
        if job is None:
            return Reply("unknown")
        late = token == job.token and (job.lapsed or (job.state == "inflight" and self._over(job)))
        if token == job.token and job.state == "inflight" and not late:
            return job
        job.refused += noted
        return Reply("expired" if late else "stale")

    def commit_step(self, token: Token, value: Any, worker: str, declared: Iterable[str]) -> Reply:
        if isinstance(job := self._live(token), Reply):
            return job
        if token.digest not in set(declared):
            raise Undeclared(worker, token.digest)
        canonical(value)
        job.effects.append((job.cursor, self.step(job).name, job.current, value))
        job.cursor, job.attempts = job.cursor + 1, 0
        done = job.cursor == len(self.definitions[job.current].steps)
        job.state = "done" if done else "ready"
        return Reply("done" if done else "advanced")

    def fail(self, token: Token, after: int | None = None) -> Reply:
        if isinstance(job := self._live(token), Reply):
            return job
        step = self.step(job)
        job.events += 1
        if job.attempts >= step.budget:
            job.state = "quarantined"
            return Reply("quarantined")
        wait = min(step.ceiling, step.base * 2 ** (job.attempts - 1)) if after is None else after
        job.state, job.due = "ready", self.tick + wait
        return Reply("retry", {"due": job.due})

    def release(self, token: Token) -> Reply:
        if isinstance(job := self._live(token), Reply):
            return job
        job.state, job.attempts, job.events = "ready", job.attempts - 1, job.events + 1
        return Reply("released")

    def quarantine(self, token: Token) -> Reply:
        if isinstance(job := self._live(token), Reply):
            return job
        job.state, job.events = "quarantined", job.events + 1
        return Reply("quarantined")

    def renew(self, token: Token) -> Reply:
        if isinstance(job := self._live(token, noted=0), Reply):
            return job
        step = self.step(job)
        job.lease = min(self.tick + step.lease, job.since + step.time_limit + step.lease)
        return Reply("renewed", {"lease_until": job.lease})

    # §8 operators

    def redrive(self, name: str, generation: int, to: str | None, checked: bool) -> Reply:
        return self._back("redrive", "quarantined", name, generation, to, checked)

    def recover(self, name: str, generation: int, to: str | None, checked: bool) -> Reply:
        return self._back("recover", "inflight", name, generation, to, checked)

    def _back(self, verb: str, state: str, name: str, generation: int, to: str | None, checked: bool) -> Reply:
        if isinstance(job := self._seen(name, generation), Reply):
            return job
        if job.state != state or (to is not None and self._cannot_bind(job, to, checked)):
            return Reply("refused")
        carries = {"live_lease": self.tick <= job.lease} if verb == "recover" else {}
        self._restart(verb, job)
        if to is not None:
            self._bind(job, to)
        return Reply("redriven" if verb == "redrive" else "recovered", carries)

    def _restart(self, verb: str, job: Job) -> None:
        job.state, job.due, job.attempts, job.lapsed = "ready", None, 0, False
        job.generation += 1
        self.audit.append((verb, job.id))

    def _seen(self, name: str, generation: int) -> Job | Reply:
        """The job, if a person has seen it as it is."""
        job = self.jobs.get(name)
        if job is None:
            return Reply("unknown")
        return job if job.generation == generation else Reply("stale")

    def quarantine_job(self, name: str, generation: int) -> Reply:
        if isinstance(job := self._seen(name, generation), Reply):
            return job
        if job.state not in ("ready", "inflight"):
            return Reply("refused")
        job.state, job.due, job.lapsed = "quarantined", None, False
        job.generation += 1
        self.audit.append(("quarantine_job", job.id))
        return Reply("quarantined")

    def migrate(self, name: str, binding: int, to: str, checked: bool) -> Reply:
        job = self.jobs.get(name)
        if job is None:
            return Reply("unknown")
        if job.binding != binding:
            return Reply("stale")
        if job.state != "ready" or self._cannot_bind(job, to, checked):
            return Reply("refused")
        self._bind(job, to)
        return Reply("migrated")

    def _cannot_bind(self, job: Job, to: str, checked: bool) -> bool:
        target = self.definitions.get(to)
        if job.cursor > 0 or target is None or target.name != job.workflow or to == job.current:
            return True
        return job.lifetime > 0 and self.step(job).on_lapse == "hold" and not checked

    def _bind(self, job: Job, to: str) -> None:
        self.chain.setdefault(job.id, []).append((job.current, to))
        job.current = to
        job.binding += 1
        self._restart("migrate", job)

    # §9 barrier, settings, receipts

    def transition(self, action: str, expected: int) -> Reply:
        here = {"mode": self.mode, "version": self.version}
        if expected != self.version:
            return Reply("stale", here)
        legal = {"drain": ("open",), "pause": ("draining",), "resume": ("draining", "paused")}
        if self.mode not in legal[action]:
            return Reply("refused", here)
        if action == "pause" and self.unfinished():
            return Reply("busy", here)
        self.mode = {"drain": "draining", "pause": "paused", "resume": "open"}[action]
        self.version += 1
        self.audit.append((action, "barrier"))
        return Reply(self.mode, {"mode": self.mode, "version": self.version})

    def set(self, name: str, value: int | str | None, flow: str | None) -> Reply:
        if name == "width":
            lane = next((one for one in self.flows if one.name is not None and one.name == flow), None)
            if lane is None:
                return Reply("unknown")
            behind = self.queue(lane)[1:] if value is None and lane.width is not None else []
            if any(job.state != "ready" or job.due is not None for job in behind):
                return Reply("refused")
            lane.width = value  # type: ignore[assignment]
        else:
            setattr(self, name, value)
        self.audit.append(("set", name))
        return Reply("set")

    def command(self, command_id: str | None, verb: str, *arguments: Any) -> Reply:
        """One of the verbs of people, under a command id if there is one: what changed something is answered the same
        for ever, and anything else under that id conflicts."""
        if command_id is not None and command_id in self.receipts:
            what, reply = self.receipts[command_id]
            return reply if what == (verb, arguments) else Reply("conflict")
        reply = getattr(self, verb)(*arguments)
        if command_id is not None and reply.verdict not in ("unknown", "stale", "refused", "busy"):
            self.receipts[command_id] = ((verb, arguments), reply)
        return reply  # type: ignore[no-any-return]

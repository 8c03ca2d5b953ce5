"""What goes in and what comes out: frozen records. Times are in the store's clock unless a name says otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from runtime.protocol.manifest import Manifest
from runtime.protocol.verdicts import Mode, State, Verdict


class Record(msgspec.Struct, frozen=True):
    """Root of the frozen records."""


class Token(Record, frozen=True):
    """What a callback presents to write anything; every part must match."""

    job: str
    binding_revision: int
    generation: int
    cursor: int
    digest: str


class Worker(Record, frozen=True):
    """A worker as the store sees it: its id and the manifests it declares, by digest."""

    id: str
    manifests: Mapping[str, Manifest] = {}

    @classmethod
    def declaring(cls, id: str, *manifests: Manifest) -> "Worker":  # noqa: A002  the record's own word
        """A worker that declares these manifests."""
        return cls(id, {manifest.digest: manifest for manifest in manifests})


class JobRecord(Record, frozen=True):
    """A job as it stands. `due` of a ready job: it waits until then. `width` is None for an ordered flow."""

    id: str
    workflow: str
    flow: str | None
    seq: int
    accepted_digest: str
    current_digest: str
    binding_revision: int
    state: State
    cursor: int
    generation: int
    attempts: int
    lifetime_attempts: int
    due: int | None
    lease_until: int | None
    since: int | None
    worker: str | None
    reason: str | None
    admitted_at: int


class Effect(Record, frozen=True):
    """The recorded value of one committed step."""

    step: int
    name: str
    digest: str
    value: Any
    at: int
    generation: int
    worker: str | None


class Finished(Record, frozen=True):
    """A job that is done, with its effects in step order."""

    record: JobRecord
    effects: tuple[Effect, ...]

    @property
    def result(self) -> Any:
        """The last step's value."""
        return self.effects[-1].value


class Claim(Record, frozen=True):
    """One opportunity to run one step of one job. `payload` is canonical JSON; `attempt` counts from 1."""

    token: Token
    workflow: str
    flow: str | None
    seq: int
    payload: str
    attempt: int
    lifetime_attempts: int
    claimed_at: int
    lease_until: int
    ticket: int


class Claims(Record, frozen=True):
    """The answer to `claim`: the mode, what was claimed, and, if less than asked, when the clock next acts on a job."""

    mode: Mode
    version: int
    claims: tuple[Claim, ...]
    next_due: int | None = None


class Answer(Record, frozen=True):
    """The answer to every other verb: the verdict and what goes with it.

    `cause` says in words why; `field` which part of an identity differs; `width` what a flow is (None: ordered);
    `unfinished` the unfinished jobs by state, for `busy`; `live_lease` that a recovered claim's lease had not lapsed.
    """

    verdict: Verdict
    cause: str | None = None
    record: JobRecord | None = None
    field: str | None = None
    mode: Mode | None = None
    version: int | None = None
    digest: str | None = None
    revision: int | None = None
    width: int | None = None
    due: int | None = None
    lease_until: int | None = None
    live_lease: bool | None = None
    unfinished: Mapping[str, int] | None = None


class Write(NamedTuple):
    """One data statement of a handler's own, with bound parameters."""

    sql: str
    params: Sequence[Any] | Mapping[str, Any] = ()


class Admission(Record, frozen=True):
    """Asks for a job. `width`: None for an ordered flow, k ≥ 1 for a free one; holds only if this creates the flow."""

    workflow: str
    id: str
    payload: Any
    flow: str | None = None
    width: int | None = None


class ClaimRequest(Record, frozen=True):
    """Asks for up to `limit` claims of what the worker declares."""

    limit: int
    worker: Worker


class Commit(Record, frozen=True):
    """A step's value, with the writes that go with it. Of a worker pool, in `settle`, it may be `Canonical` already."""

    token: Token
    value: Any
    worker: Worker
    writes: Sequence[Write] = ()


class Callback(Record, frozen=True):
    """A worker's fail, release or quarantine. `after` replaces the backoff of a failure."""

    token: Token
    reason: str
    worker: str | None = None
    after: int | None = None


class Renewal(Record, frozen=True):
    """Asks for a longer lease."""

    token: Token
    worker: str | None = None


class Switch(Record, frozen=True):
    """Sets where new jobs of the digest's workflow go."""

    digest: str
    expected_revision: int
    reason: str | None = None
    actor: str = "operator"
    command_id: str | None = None


class Operation(Record, frozen=True):
    """Redrive, recover or quarantine of one job by a person. `to`: migrate it in the same transaction."""

    job: str
    generation: int
    reason: str
    to: str | None = None
    effects_checked: bool = False
    actor: str = "operator"
    command_id: str | None = None


class Migration(Record, frozen=True):
    """Changes a job's definition by a person's word."""

    job: str
    binding_revision: int
    digest: str
    reason: str
    effects_checked: bool = False
    actor: str = "operator"
    command_id: str | None = None


class Transition(Record, frozen=True):
    """A barrier command: action is `drain`, `pause` or `resume`. `pause_when_empty` goes with `drain`."""

    action: str
    expected_version: int
    reason: str | None = None
    actor: str = "operator"
    command_id: str | None = None
    pause_when_empty: bool = False


class Setting(Record, frozen=True):
    """An audited setting: `capacity`, `flow_capacity` (None lifts it), `newcomers` (`behind` or `first`), or a flow's
    `width` (with `flow`; None makes it ordered)."""

    name: str
    value: int | str | None
    flow: str | None = None
    reason: str = ""
    actor: str = "operator"
    command_id: str | None = None


class History(Record, frozen=True):
    """A row of a job's history: `what` is failed, lapsed, refused, released or quarantined; `times` counts repeats."""

    job: str
    step: int
    generation: int
    worker: str | None
    at: int
    what: str
    why: str | None
    times: int
    last_at: int


class Audit(Record, frozen=True):
    """An operator's act: who, when, what, from which state to which, why."""

    at: int
    actor: str
    verb: str
    subject: str
    before: Any
    after: Any
    reason: str | None
    command_id: str | None


class Route(Record, frozen=True):
    """Where new jobs of a workflow go."""

    workflow: str
    digest: str
    revision: int


class FlowRecord(Record, frozen=True):
    """A flow's dispatch state. `width` is None for an ordered flow."""

    name: str
    width: int | None
    served: int
    next_seq: int
    unfinished: int
    taken: int


class Presence(Record, frozen=True):
    """A worker process that has said it lives; times are wall milliseconds. `live`: heard of within three seconds."""

    worker: str
    host: str
    pid: int
    started_at_ms: int
    seen_at_ms: int
    digests: tuple[str, ...]
    engine: str
    live: bool


class Snapshot(Record, frozen=True):
    """One read transaction's photograph."""

    taken_at: int
    mode: Mode
    version: int
    pause_when_empty: bool
    jobs: Mapping[str, int]
    unfinished_by_definition: Mapping[str, int]
    effects: int
    ticket: int
    routes: tuple[Route, ...]
    flows: tuple[FlowRecord, ...]
    workers: tuple[Presence, ...]
    releases: int
    file_bytes: int

"""What a handler is given."""

import hashlib
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from anyio import current_effective_deadline, from_thread, get_cancelled_exc_class

from runtime.protocol.canonical import canonical
from runtime.protocol.errors import InvalidValue
from runtime.protocol.manifest import Step
from runtime.protocol.records import Claim, Effect, Write
from workers.ports import Params, Source

Shape = TypeVar("Shape")


class Facts:
    """What every kind of context knows without asking anybody."""

    __slots__ = ("_closed", "_payload", "_step", "begun", "claim", "deadline", "parameters", "store_id", "writes")

    def __init__(
        self, claim: Claim, step: Step, parameters: dict[str, Any], store_id: str, deadline: float = math.inf
    ) -> None:
        self.claim = claim
        self._step = step
        self.store_id = store_id
        self.deadline = deadline
        self.parameters = parameters
        self.writes: list[Write] = []
        self._closed = False
        self.begun = False

    @property
    def id(self) -> str:
        """The job's identity."""
        return self.claim.token.job

    @property
    def job(self) -> str:
        """The same as `id`, as records and logs call it."""
        return self.claim.token.job

    @property
    def workflow(self) -> str:
        """The job's workflow."""
        return self.claim.workflow

    @property
    def flow(self) -> str | None:
        """The job's flow; None for a job that was admitted without one."""
        return self.claim.flow

    @property
    def seq(self) -> int:
        """The job's sequence number in its flow, from 1."""
        return self.claim.seq

    @property
    def digest(self) -> str:
        """The definition that is executed; hand it over beside the idempotency key."""
        return self.claim.token.digest

    @property
    def generation(self) -> int:
        """Which claim of the job this is."""
        return self.claim.token.generation

    @property
    def step(self) -> str:
        """The step's name."""
        return self._step.name

    @property
    def attempt(self) -> int:
        """The attempt since the last progress, from 1."""
        return self.claim.attempt

    @property
    def payload(self) -> Any:
        """The job's payload as plain JSON data."""
        try:
            return self._payload
        except AttributeError:
            self._payload: Any = msgspec.json.decode(self.claim.payload)
            return self._payload

    def payload_as(self, shape: type[Shape]) -> Shape:
        """The payload as a msgspec Struct (or another type); a job whose payload does not fit fails its attempt."""
        return msgspec.json.decode(self.claim.payload, type=shape)

    @property
    def idempotency_key(self) -> str:
        """64 characters, the same in every attempt at this step of this job, whatever befalls it."""
        parts = (self.store_id, self.claim.token.job, self._step.name)
        return hashlib.sha256(canonical(parts, "idempotency_key")).hexdigest()

    @property
    def time_left(self) -> float:
        """Seconds until the step's time limit, 0 once it is reached; infinite on a logical clock."""
        return max(0.0, self.deadline - time.monotonic())

    def execute(self, sql: str, params: Params = ()) -> None:
        """Hand over a write to your own table: one data statement, applied with the effect or not at all.

        It is only noted here, hence never awaited; `query` does not see it. If it fails, this attempt fails.
        """
        if not isinstance(sql, str):
            raise InvalidValue("ctx.execute", f"SQL text is expected, got {type(sql).__name__}")
        if isinstance(params, (str, bytes)) or not isinstance(params, (Sequence, Mapping)):
            raise InvalidValue("ctx.execute", "parameters are a tuple, a list or a mapping: execute(sql, (value,))")
        if self._closed:
            raise RuntimeError("this attempt is over: what is handed over now would be lost")
        self.writes.append(Write(sql, dict(params) if isinstance(params, Mapping) else tuple(params)))

    def close(self) -> list[Write]:
        """The writes so far; none is taken from now on."""
        self._closed = True
        return self.writes


class Context(Facts):
    """What an `async def` handler is given."""

    __slots__ = ("_effects", "_source")

    def __init__(
        self, claim: Claim, step: Step, parameters: dict[str, Any], store_id: str, deadline: float, source: Source
    ) -> None:
        super().__init__(claim, step, parameters, store_id, deadline)
        self._source = source
        self._effects: dict[str, Any] | None = None

    async def effect(self, step: str) -> Any:
        """The value that an earlier step of this job committed, by the step's name; read on first use.

        `LookupError` for a step that has committed nothing.
        """
        if self._effects is None:
            self._effects = by_step(await self._source.effects(self.id))
        return pick(self._effects, step)

    async def query(self, sql: str, params: Params = ()) -> Any:
        """The rows of one reading statement on the same file."""
        return await self._source.query(sql, params)


class SyncContext(Facts):
    """What a plain `def` handler is given: the same names without `await`."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        super().__init__(context.claim, context._step, context.parameters, context.store_id, context.deadline)
        self._context = context

    def effect(self, step: str) -> Any:
        """The value that an earlier step of this job committed; see `Context.effect`."""
        return from_thread.run(_unless_cancelled, self._context.effect, step)

    def query(self, sql: str, params: Params = ()) -> Any:
        """The rows of one reading statement on the same file."""
        return from_thread.run(_unless_cancelled, self._context.query, sql, params)


async def _unless_cancelled(ask: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    # anyio hands a cancellation only to calls that were under way when it came; a later one would wait for ever.
    if current_effective_deadline() == -math.inf:
        raise get_cancelled_exc_class()("the attempt is cancelled")
    return await ask(*args)


def by_step(effects: Sequence[Effect]) -> dict[str, Any]:
    """Values by step name."""
    return {effect.name: effect.value for effect in effects}


def pick(effects: Mapping[str, Any], step: str) -> Any:
    """The value of one step; `LookupError` says which there are."""
    if step not in effects:
        known = ", ".join(repr(name) for name in effects) or "none yet"
        raise LookupError(f"this job has no effect of a step {step!r}; it has {known}")
    return effects[step]

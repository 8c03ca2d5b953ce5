"""Steps of a manifest, as a person writes them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from runtime.protocol.errors import InvalidValue
from runtime.protocol.manifest import BASE_MS, BUDGET, CEILING_MS, LEASE_MS, TIME_LIMIT_MS, Step
from runtime.protocol.records import Record
from runtime.protocol.verdicts import OnLapse
from workers.durations import duration_ms

HandlerName: TypeAlias = Callable[..., Any] | str


class PlannedStep(Record, frozen=True):
    """A step before its app has looked up the handler's registered name. Times in milliseconds (or ticks)."""

    name: str
    handler: HandlerName
    params: dict[str, Any]
    policy: dict[str, Any]

    def under(self, op: str) -> Step:
        """The step of a manifest, with the handler's registered name."""
        return Step(name=self.name, op=op, params=self.params, **self.policy)


Written: TypeAlias = PlannedStep | tuple[str, HandlerName] | tuple[str, HandlerName, Mapping[str, Any]]


def step(
    name: str,
    handler: HandlerName,
    params: Mapping[str, Any] | None = None,
    *,
    lease: int | str = LEASE_MS,
    time_limit: int | str = TIME_LIMIT_MS,
    budget: int = BUDGET,
    base: int | str = BASE_MS,
    ceiling: int | str = CEILING_MS,
    on_lapse: OnLapse | str = OnLapse.RETRY,
) -> PlannedStep:
    """A step with its policy, for `App.manifest`.

    `lease`, `time_limit`, `base` and `ceiling` are `"10s"`, `"15m"` or milliseconds (ticks on a logical clock). A
    failed attempt is repeated after min(ceiling, base·2^(attempts-1)), at most `budget` attempts in all.
    `on_lapse="hold"` is for steps whose effect outside must not be repeated unseen: then a lost worker leaves the job
    to a person.
    """
    if on_lapse not in tuple(OnLapse):
        raise InvalidValue(f"step {name!r}.on_lapse", f"'retry' or 'hold' is expected, got {on_lapse!r}")
    policy = {
        "lease": duration_ms(lease, f"step {name!r}.lease"),
        "time_limit": duration_ms(time_limit, f"step {name!r}.time_limit"),
        "base": duration_ms(base, f"step {name!r}.base"),
        "ceiling": duration_ms(ceiling, f"step {name!r}.ceiling"),
        "budget": budget,
        "on_lapse": OnLapse(on_lapse),
    }
    return PlannedStep(name, handler, dict(params or {}), policy)


def plan(written: Written, place: str) -> PlannedStep:
    """A step from `step(…)` or from a tuple (name, handler[, params])."""
    if isinstance(written, PlannedStep):
        return written
    if isinstance(written, Sequence) and not isinstance(written, str) and len(written) in (2, 3):
        return step(*written)
    raise InvalidValue(place, "a tuple (name, handler[, params]) or step(name, handler, params, …) is expected")

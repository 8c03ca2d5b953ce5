"""Manifests, format 1, and their digests (contract §3)."""

from functools import cached_property
from typing import Any

import msgspec

from runtime.protocol.canonical import canonical, check_integer, check_name, decode, digest
from runtime.protocol.errors import InvalidValue
from runtime.protocol.verdicts import OnLapse

BUDGET = 3
BASE_MS = 1_000
CEILING_MS = 300_000
LEASE_MS = 30_000
TIME_LIMIT_MS = 3_600_000

MANIFEST_FIELDS = frozenset({"format", "name", "abi", "steps"})
STEP_FIELDS = frozenset(
    {"name", "op", "params", "budget", "base", "ceiling", "lease", "time_limit", "on_lapse"}
)


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step: its name, the handler's registered name, its parameters and its policy.

    Times are in the store's clock: milliseconds on the wall clock, ticks on the logical one.
    """

    name: str
    op: str
    params: dict[str, Any] = {}
    budget: int = BUDGET
    base: int = BASE_MS
    ceiling: int = CEILING_MS
    lease: int = LEASE_MS
    time_limit: int = TIME_LIMIT_MS
    on_lapse: OnLapse = OnLapse.RETRY


class Manifest(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """What a job does: a workflow's name, the interpreter contract, and ordered steps."""

    name: str
    abi: str
    steps: tuple[Step, ...]
    format: int = 1

    @cached_property
    def canonical(self) -> bytes:
        """Canonical JSON with every field spelled out; checks the manifest first."""
        check_manifest(self)
        return canonical(msgspec.to_builtins(self), "manifest")

    @cached_property
    def digest(self) -> str:
        """The definition's identity: SHA-256 over `canonical`, hexadecimal."""
        return digest(self.canonical)


def manifest_from(value: object) -> Manifest:
    """A manifest from plain data (as JSON gives it); `InvalidValue` names the place of what is wrong."""
    if isinstance(value, Manifest):
        check_manifest(value)
        return value
    if not isinstance(value, dict):
        raise InvalidValue("manifest", f"an object is expected, got {type(value).__name__}")
    _fields(value, MANIFEST_FIELDS, "manifest", required=("name", "abi", "steps"))
    steps = value["steps"]
    if not isinstance(steps, (list, tuple)):
        raise InvalidValue("manifest.steps", "a list of steps is expected")
    for index, step in enumerate(steps):
        place = f"manifest.steps[{index}]"
        if not isinstance(step, dict):
            raise InvalidValue(place, "an object is expected")
        _fields(step, STEP_FIELDS, place, required=("name", "op"))
    built = Manifest(
        format=value.get("format", 1),
        name=value["name"],
        abi=value["abi"],
        steps=tuple(Step(**step) for step in steps),
    )
    check_manifest(built)
    return built


def manifest_from_bytes(data: bytes | str) -> Manifest:
    """The manifest behind canonical bytes from the registry."""
    return manifest_from(decode(data))


def check_manifest(manifest: Manifest) -> None:
    """Raise `InvalidValue`, which names the place, for anything that format 1 does not allow."""
    if manifest.format != 1 or type(manifest.format) is not int:
        raise InvalidValue("manifest.format", "format 1 is expected")
    check_name(manifest.name, "manifest.name")
    check_name(manifest.abi, "manifest.abi")
    if not isinstance(manifest.steps, (list, tuple)):
        raise InvalidValue("manifest.steps", f"a list of steps is expected, got {type(manifest.steps).__name__}")
    if not manifest.steps:
        raise InvalidValue("manifest.steps", "at least one step is expected")
    names: set[str] = set()
    for index, step in enumerate(manifest.steps):
        place = f"manifest.steps[{index}]"
        if not isinstance(step, Step):
            raise InvalidValue(place, f"a step is expected, got {type(step).__name__}")
        check_step(step, place)
        if step.name in names:
            raise InvalidValue(f"{place}.name", f"the name {step.name!r} stands twice; step names are unique")
        names.add(step.name)


def check_step(step: Step, place: str) -> None:
    """Raise `InvalidValue` for a step that format 1 does not allow."""
    check_name(step.name, f"{place}.name")
    check_name(step.op, f"{place}.op")
    if not isinstance(step.params, dict):
        raise InvalidValue(f"{place}.params", "an object is expected")
    canonical(step.params, f"{place}.params")
    for field in ("budget", "lease", "time_limit"):
        check_integer(getattr(step, field), f"{place}.{field}", least=1)
    check_integer(step.base, f"{place}.base")
    check_integer(step.ceiling, f"{place}.ceiling")
    if step.ceiling < step.base:
        raise InvalidValue(f"{place}.ceiling", f"at least the base {step.base} is expected, got {step.ceiling}")
    if step.on_lapse not in tuple(OnLapse):
        raise InvalidValue(f"{place}.on_lapse", f"'retry' or 'hold' is expected, got {step.on_lapse!r}")


def _fields(value: dict[Any, Any], known: frozenset[str], place: str, *, required: tuple[str, ...]) -> None:
    for field in value:
        if field not in known:
            raise InvalidValue(f"{place}.{field}", f"an unknown field; format 1 has {', '.join(sorted(known))}")
    for field in required:
        if field not in value:
            raise InvalidValue(f"{place}.{field}", "is missing")

"""Handlers as an app knows them, and whether a manifest's steps fit them. All inspection happens here, once."""

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from runtime.protocol.errors import HandlerMismatch
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Record

Function = Callable[..., Any]

KEYWORDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
FIRST = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


class Kind(StrEnum):
    """Where a handler runs."""

    LOOP = "loop"
    THREAD = "thread"
    PROCESS = "process"


class Handler(Record, frozen=True):
    """A registered handler. `takes` are its parameters without the context; `anything`: it has `**names`."""

    name: str
    function: Function
    kind: Kind
    takes: tuple[str, ...]
    required: tuple[str, ...]
    anything: bool
    barred: tuple[str, ...] = ()

    def faults(self, params: Mapping[str, Any]) -> list[str]:
        """What is wrong with these parameters, in words."""
        found = []
        for name in params:
            if name not in self.takes and (not self.anything or name in self.barred):
                takes = ", ".join(self.takes) or "no parameters"
                found.append(f"does not take the parameter {name!r} (it takes {takes})")
        for name in self.required:
            if name not in params:
                found.append(f"requires the parameter {name!r}, which the manifest does not give")
        return found


def examine(name: str, function: Function, *, process: bool) -> Handler:
    """A handler from a function; `HandlerMismatch` if it cannot be one."""
    called: Any = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    if inspect.isasyncgenfunction(called) or inspect.isgeneratorfunction(called):
        raise HandlerMismatch(f"handler {name!r} is a generator: return the value instead of yielding")
    waits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
    if process and waits:
        raise HandlerMismatch(f"handler {name!r} is `async def` and process=True: a process runs plain `def` handlers")
    try:
        first, *rest = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        first, rest = None, []
    if first is None or first.kind not in FIRST:
        raise HandlerMismatch(f"handler {name!r} takes no context: `def {name}(ctx, …)` is expected")
    for parameter in rest:
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and parameter.default is parameter.empty:
            raise HandlerMismatch(
                f"handler {name!r}: parameter {parameter.name!r} is positional only; they are given by name"
            )
    named = [parameter for parameter in rest if parameter.kind in KEYWORDS]
    return Handler(
        name=name,
        function=function,
        kind=Kind.LOOP if waits else Kind.PROCESS if process else Kind.THREAD,
        takes=tuple(parameter.name for parameter in named),
        required=tuple(parameter.name for parameter in named if parameter.default is parameter.empty),
        anything=any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in rest),
        barred=(first.name,) if first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD else (),
    )


def mismatches(app: str, handlers: Mapping[str, Handler], manifest: Manifest) -> list[str]:
    """Every way in which a manifest does not fit the handlers, one line each; none means that it fits."""
    found = []
    for step in manifest.steps:
        place = f"manifest {manifest.name!r} ({manifest.digest[:12]}), step {step.name!r}"
        handler = handlers.get(step.op)
        if handler is None:
            has = ", ".join(repr(name) for name in sorted(handlers)) or "none"
            found.append(
                f"{place}: app {app!r} has no handler {step.op!r} (it has {has}); "
                f"register it with @app.step(name={step.op!r})"
            )
        else:
            found += [f"{place}: handler {step.op!r} {fault}" for fault in handler.faults(step.params)]
    return found


class Bound(Record, frozen=True):
    """A step of a declared manifest with its handler, ready to run. `mutable`: the parameters hold lists or objects."""

    step: Step
    function: Function
    kind: Kind
    params: dict[str, Any]
    mutable: bool
    hold: bool

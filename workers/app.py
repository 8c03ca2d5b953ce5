"""App: the handlers and the manifests that a worker declares, and admission with the payload checked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from runtime.protocol.canonical import canonical, check_name, decode
from runtime.protocol.errors import HandlerMismatch, InvalidValue, ItemError
from runtime.protocol.manifest import Manifest, check_manifest
from runtime.protocol.records import Admission, Answer
from workers.handlers import Bound, Handler, examine, mismatches
from workers.payloads import fitting
from workers.ports import Admitting, Declaring
from workers.steps import HandlerName, Written, plan

F = TypeVar("F", bound=Callable[..., Any])


class App:
    """A named set of handlers and manifests: `app = App("points", abi="local-ledger/1")`.

    `abi` names what the handlers understand by their parameters; it is part of every definition's digest. `payload`
    is a msgspec Struct (or a mapping of workflow name to Struct) that payloads must fit when they are admitted
    through the app.
    """

    def __init__(self, name: str, abi: str, payload: type | Mapping[str, type] | None = None) -> None:
        self.name = check_name(name, "App.name")
        self.abi = check_name(abi, "App.abi")
        self.payload = payload
        self.handlers: dict[str, Handler] = {}
        self.manifests: list[Manifest] = []
        self.schemas: list[tuple[str, str]] = []
        self._names: dict[Any, str] = {}
        self._marked: dict[str, Manifest] = {}

    @overload
    def step(self, function: F, /) -> F: ...

    @overload
    def step(self, /, *, name: str | None = None, process: bool = False) -> Callable[[F], F]: ...

    def step(
        self, function: F | None = None, /, *, name: str | None = None, process: bool = False
    ) -> F | Callable[[F], F]:
        """Register a handler: `@app.step` under the function's own name, or `@app.step(name="credit", process=True)`.

        `process=True` runs a plain `def` in a process of its own, which imports the app's module anew.
        """

        def register(function: F) -> F:
            op = check_name(name or getattr(function, "__name__", None), "handler's name")
            if op in self.handlers:
                raise HandlerMismatch(f"app {self.name!r} has a handler {op!r} already: give this one another name")
            self.handlers[op] = examine(op, function, process=process)
            self._names.setdefault(function, op)
            return function

        return register if function is None else register(function)

    def manifest(self, steps: Sequence[Written], *, workflow: str | None = None, current: bool = False) -> Manifest:
        """Declare a manifest: its steps are tuples (name, handler[, params]) or `step(…)`.

        `workflow` is the app's name unless given. `current` marks where new jobs go when a workflow has no route yet; a
        workflow's only manifest is current by itself.
        """
        name = self.name if workflow is None else workflow
        planned = [plan(written, f"manifest.steps[{index}]") for index, written in enumerate(steps)]
        built = tuple(one.under(self._op(name, one.name, one.handler)) for one in planned)
        return self.declare(Manifest(name=name, abi=self.abi, steps=built), current=current)

    def declare(self, manifest: Manifest, *, current: bool = False) -> Manifest:
        """Declare a manifest that exists already, for example one read from a file."""
        check_manifest(manifest)
        marked = self._marked.get(manifest.name)
        if current and marked is not None and marked.digest != manifest.digest:
            told = f"workflow {manifest.name!r} has a current manifest already: mark only one"
            raise InvalidValue("manifest.current", told)
        if current:
            self._marked[manifest.name] = manifest
        if all(known.digest != manifest.digest for known in self.manifests):
            self.manifests.append(manifest)
        return manifest

    @property
    def current(self) -> dict[str, Manifest]:
        """The current manifest by workflow; a workflow with several and none marked is not in it."""
        only: dict[str, list[Manifest]] = {}
        for manifest in self.manifests:
            only.setdefault(manifest.name, []).append(manifest)
        return {name: of[0] for name, of in only.items() if len(of) == 1} | self._marked

    def schema(self, name: str, sql: str) -> None:
        """Tables of your own in the same file: `sql` runs once per file and `name`, in a transaction of its own."""
        check_name(name, "schema's name")
        if any(known == name for known, _ in self.schemas):
            raise InvalidValue("schema's name", f"app {self.name!r} has a schema {name!r} already")
        self.schemas.append((name, sql))

    def check(self) -> None:
        """Raise `HandlerMismatch`, one line per fault, unless every declared manifest fits the handlers."""
        faults = [fault for manifest in self.manifests for fault in mismatches(self.name, self.handlers, manifest)]
        if faults:
            raise HandlerMismatch("\n".join(faults))

    def bind(self, manifest: Manifest) -> tuple[Bound, ...]:
        """The manifest's steps with their handlers."""
        return tuple(self._bind(manifest, index) for index in range(len(manifest.steps)))

    async def prepare(self, store: Declaring) -> None:
        """What a pool does at its start: own tables, registered manifests, and a route where a workflow has none."""
        for name, sql in self.schemas:
            await store.ensure_schema(name, sql)
        for answer in await store.register_many(self.manifests):
            if isinstance(answer, ItemError):
                raise answer
        for manifest in self.current.values():
            await store.switch(manifest.digest, 0, reason=f"first route, set by app {self.name!r}", actor="worker")

    def admission(
        self,
        id: str,  # noqa: A002  the contract's own word
        payload: Any,
        *,
        flow: str | None = None,
        workflow: str | None = None,
        width: int | None = None,
    ) -> Admission:
        """A checked request for `admit_many`; `InvalidValue` names the place where the payload does not fit."""
        name = self.name if workflow is None else workflow
        return Admission(name, id, self.checked(payload, name), flow, width)

    def checked(self, payload: Any, workflow: str | None = None) -> Any:
        """The payload as plain JSON data, once it fits the Struct; `InvalidValue` names the place."""
        shape = self.payload
        if isinstance(shape, Mapping):
            shape = shape.get(self.name if workflow is None else workflow)
        return fitting(payload, shape)

    async def admit(
        self,
        store: Admitting,
        id: str,  # noqa: A002  the contract's own word
        payload: Any,
        *,
        flow: str | None = None,
        workflow: str | None = None,
        width: int | None = None,
        now: int | None = None,
    ) -> Answer:
        """Check the payload, then ask the store: `accepted`, `replay`, `conflict`, `closed` or `full`."""
        item = self.admission(id, payload, flow=flow, workflow=workflow, width=width)
        return await store.admit(item.workflow, item.id, item.payload, flow=flow, width=width, now=now)

    async def admit_many(
        self, store: Admitting, items: Sequence[Admission], *, now: int | None = None
    ) -> list[Answer | ItemError]:
        """The batch form: one transaction; an item whose payload does not fit has its `InvalidValue` in its place."""
        answers: list[Answer | ItemError | None] = []
        sound = []
        for item in items:
            try:
                payload = self.checked(item.payload, item.workflow)
            except InvalidValue as error:
                answers.append(error)
            else:
                answers.append(None)
                sound.append(Admission(item.workflow, item.id, payload, item.flow, item.width))
        asked = iter(await store.admit_many(sound, now=now) if sound else [])
        return [next(asked) if answer is None else answer for answer in answers]

    def _op(self, workflow: str, step: str, handler: HandlerName) -> str:
        if isinstance(handler, str):
            return handler
        try:
            return self._names[handler]
        except (KeyError, TypeError):
            name = getattr(handler, "__name__", repr(handler))
            raise HandlerMismatch(
                f"manifest {workflow!r}, step {step!r}: {name!r} is no handler of app {self.name!r}; "
                f"decorate it with @app.step"
            ) from None

    def _bind(self, manifest: Manifest, index: int) -> Bound:
        step = manifest.steps[index]
        handler = self.handlers[step.op]
        params = decode(canonical(step.params, "params"))
        mutable = any(isinstance(value, (dict, list)) for value in params.values())
        return Bound(step, handler.function, handler.kind, params, mutable, step.on_lapse == "hold")

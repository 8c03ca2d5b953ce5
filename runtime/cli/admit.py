"""admit: hand over a job, or many from a file of JSON lines."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from cyclopts import Parameter

from runtime.cli.answers import data, hint, line
from runtime.cli.exits import Exit, Stop, code_of, line_of
from runtime.cli.options import Db, Output
from runtime.cli.output import document, rows, say, show
from runtime.cli.session import load_app, opened
from runtime.protocol.canonical import MAX_BYTES, parse
from runtime.protocol.errors import InvalidValue, ItemError
from runtime.protocol.records import Admission, Answer

if TYPE_CHECKING:
    from workers import App

BATCH = 1000
FIELDS = ("workflow", "id", "payload", "flow", "width")
Outcome = tuple[str, Answer | ItemError]


async def admit(
    workflow: Annotated[str | None, Parameter(help="The workflow, as its app names it.")] = None,
    id: Annotated[str | None, Parameter(help="The job's identity; the same again is a replay.")] = None,  # noqa: A002
    /,
    *,
    db: Db,
    payload: Annotated[
        str | None, Parameter(help="JSON, or - to read it from stdin.", allow_leading_hyphen=True)
    ] = None,
    flow: Annotated[str | None, Parameter(help="What order and fairness are kept by, for example a customer.")] = None,
    width: Annotated[int | None, Parameter(help="Makes a new flow free, with so many places.")] = None,
    app: Annotated[
        str | None, Parameter(help="MODULE:APP, made ready in the file first; the payload must fit its type.")
    ] = None,
    jsonl: Annotated[
        str | None,
        Parameter(
            help="A file (or -) with a JSON object on each line: id, payload, flow, width, workflow.",
            allow_leading_hyphen=True,
        ),
    ] = None,
    output: Output = "text",
) -> int:
    """Hand over a job, or many; the answer means that it is kept.

    The same id, workflow, flow and payload again is a `replay`: sending twice is safe.

    ```
    admit points job-1 --payload '{"units": 10}' --flow anna --db app.db
    admit points job-1 --payload '{"units": 10}' --app points:app --db app.db    before any worker ran
    generate | admit points --jsonl - --db app.db
    ```

    With --app the app's tables and manifests are there first, and a route where its workflow has none.

    Exit 0 accepted or replay, 2 a value that is refused or no route, 4 conflict, 5 closed or full.
    """
    loaded = _checked_app(app) if app is not None else None
    if jsonl is None:
        if workflow is None or id is None or payload is None:
            raise Stop("WORKFLOW, ID and --payload are expected, or --jsonl FILE for many")
        text = sys.stdin.read() if payload == "-" else payload
        item = Admission(workflow, id, _parsed(text), flow, width)
        return await _one(db, item, loaded, output)
    if id is not None or payload is not None:
        raise Stop("with --jsonl every line carries its own id and payload: leave ID and --payload out")
    return await _many(db, jsonl, Admission(workflow or "", "", None, flow, width), loaded, output)


def _parsed(text: str) -> Any:
    try:
        return parse(text, "payload")
    except InvalidValue as error:
        if not error.expected.startswith("not JSON"):
            raise
        written = """--payload '{"n": 1}'"""
        raise InvalidValue(error.place, f"{error.expected}; quoted for the shell it looks like {written}") from None


def _checked_app(target: str) -> "App":
    app = load_app(target)
    app.check()
    return app


def _fitting(app: "App | None", workflow: str, payload: Any) -> Any:
    if app is None:
        return payload
    known = sorted({manifest.name for manifest in app.manifests})
    if known and workflow not in known:
        raise InvalidValue("WORKFLOW", f"app {app.name!r} has no workflow {workflow!r}; it has {', '.join(known)}")
    return app.checked(payload, workflow)


async def _one(db: Path, item: Admission, app: "App | None", output: str) -> int:
    checked = _fitting(app, item.workflow, item.payload)
    async with opened(db, create=True) as store:
        if app is not None:
            await app.prepare(store)
        answer = await store.admit(item.workflow, item.id, checked, flow=item.flow, width=item.width)
    document({"id": item.id, **data(answer)}, output, lambda: _text((item.id, answer)))
    if advice := hint(answer):
        say(advice)
    return code_of(answer)


async def _many(db: Path, path: str, common: Admission, app: "App | None", output: str) -> int:
    code: int = Exit.OK
    counts: dict[str, int] = {}
    everything: list[dict[str, Any]] = []
    with _lines(path) as source:
        async with opened(db, create=True) as store:
            if app is not None:
                await app.prepare(store)
            for batch in _batches(source, common, app):
                sound = [item for _, item in batch if isinstance(item, Admission)]
                asked = iter(await store.admit_many(sound))
                outcomes: list[Outcome] = [
                    (name, next(asked) if isinstance(item, Admission) else item) for name, item in batch
                ]
                code = max(code, *(code_of(answer) for _, answer in outcomes))
                for _, answer in outcomes:
                    word = answer.verdict.value if isinstance(answer, Answer) else "error"
                    counts[word] = counts.get(word, 0) + 1
                _print(outcomes, output, everything)
    if output == "json":
        rows(everything, output, lambda: "")
    say(", ".join(f"{count} {word}" for word, count in counts.items()) or "no lines: nothing was sent")
    return code


def _print(outcomes: Sequence[Outcome], output: str, everything: list[dict[str, Any]]) -> None:
    if output == "json":
        everything += [_data(outcome) for outcome in outcomes]
    elif output == "jsonl":
        rows([_data(outcome) for outcome in outcomes], output, lambda: "")
    else:
        for outcome in outcomes:
            if isinstance(outcome[1], ItemError) or code_of(outcome[1]):
                show(_text(outcome))


def _data(outcome: Outcome) -> dict[str, Any]:
    name, answer = outcome
    return {"id": name, "error": line_of(answer)} if isinstance(answer, ItemError) else {"id": name, **data(answer)}


def _text(outcome: Outcome) -> str:
    name, answer = outcome
    if isinstance(answer, ItemError):
        return f"error {name}: {line_of(answer)}"
    record = answer.record
    if record is None:
        return line(answer, name)
    place = f"flow {record.flow}, number {record.seq}" if record.flow is not None else "no flow"
    return f"{answer.verdict} {name} ({place}, definition {record.current_digest[:12]}, {record.state})"


def _lines(path: str) -> TextIO:
    if path == "-":
        return open(sys.stdin.fileno(), encoding="utf-8", errors="surrogateescape", closefd=False)
    try:
        return open(path, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise Stop(f"--jsonl {path}: cannot be read ({error.strerror})") from None


def _batches(source: TextIO, common: Admission, app: "App | None") -> Iterator[list[tuple[str, Admission | ItemError]]]:
    batch: list[tuple[str, Admission | ItemError]] = []
    for number, text in enumerate(source, 1):
        if text.strip():
            batch.append(_item(f"line {number}", text, common, app))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _item(place: str, text: str, common: Admission, app: "App | None") -> tuple[str, Admission | ItemError]:
    name = place
    try:
        if len(text) > 2 * MAX_BYTES:
            raise InvalidValue("item", f"{len(text)} characters; at most {2 * MAX_BYTES} are read")
        value = parse(text, "item")
        if not isinstance(value, dict) or set(value) - set(FIELDS) or not {"id", "payload"} <= set(value):
            raise InvalidValue("item", "an object with id and payload, and perhaps flow, width, workflow, is expected")
        name = value["id"] if isinstance(value["id"], str) else place
        workflow = value.get("workflow") or common.workflow
        if not workflow:
            raise InvalidValue("item", "a workflow is expected, in the line or before --jsonl")
        checked = _fitting(app, workflow, value["payload"])
    except ItemError as error:
        return name, error
    flow, width = value.get("flow", common.flow), value.get("width", common.width)
    return name, Admission(workflow, value["id"], checked, flow, width)

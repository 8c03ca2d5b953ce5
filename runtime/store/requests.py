"""How a verb reaches the writer: a request is handed over, its answers are awaited, an item's own error is raised."""

import os
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, cast

from anyio import Lock

from runtime.protocol.canonical import Canonical
from runtime.protocol.errors import InvalidValue, ItemError, StoreClosed
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import (
    Admission,
    Answer,
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
    Worker,
    Write,
)
from runtime.store.reads import Reads
from runtime.store.sqlite import Connection, Files
from runtime.store.writer import Request, Writer

Answers = list[Answer | ItemError]
# what a verb's item is, and what is inside it
KINDS: Mapping[str, tuple[type, Mapping[str, type]]] = {
    "switch": (Switch, {}),
    "admit": (Admission, {}),
    "claim": (ClaimRequest, {"worker": Worker}),
    "commit_step": (Commit, {"token": Token, "worker": Worker}),
    "fail": (Callback, {"token": Token}),
    "release": (Callback, {"token": Token}),
    "quarantine": (Callback, {"token": Token}),
    "renew": (Renewal, {"token": Token}),
    "redrive": (Operation, {}),
    "recover": (Operation, {}),
    "quarantine_job": (Operation, {}),
    "migrate": (Migration, {}),
    "transition": (Transition, {}),
    "set": (Setting, {}),
}


def misfit(verb: str, item: Any) -> InvalidValue | None:
    """Why an item is none of this verb's; a value inside it is judged by the verb itself."""
    if verb not in KINDS:
        return None
    kind, inside = KINDS[verb]
    if not isinstance(item, kind):
        return InvalidValue(verb, f"a {kind.__name__} is expected, got {type(item).__name__}")
    if not inside:
        return None
    for field, inner in inside.items():
        found = getattr(item, field)
        if not isinstance(found, inner):
            return InvalidValue(field, f"a {inner.__name__} is expected, got {type(found).__name__}")
    if isinstance(item, Commit) and isinstance(item.value, Canonical):
        return InvalidValue("value", "a plain value is expected; only a worker pool's settle brings canonical ones")
    if isinstance(item, Commit) and not (
        isinstance(item.writes, (list, tuple))
        and all(isinstance(write, Write) and isinstance(write.sql, str) for write in item.writes)
    ):
        return InvalidValue("writes", "a list of Write(sql, params) is expected")
    worker = getattr(item, "worker", None)
    if isinstance(worker, Worker) and not (
        isinstance(worker.manifests, Mapping)
        and all(isinstance(manifest, Manifest) for manifest in worker.manifests.values())
    ):
        return InvalidValue("worker.manifests", "a mapping of digests to manifests is expected")
    return None


class Requests(Reads):
    """A store's reading half, and the way to its writer."""

    def __init__(self, files: Files, writer: Writer, reader: Connection, store_id: str, clock: str) -> None:
        super().__init__(files, reader, store_id, clock)
        self._writer = writer
        self._closing = Lock()

    def _submit(self, verb: str, items: Sequence[Any], now: int | None) -> Request:
        if os.getpid() != self._opened_by:
            raise StoreClosed("this store was opened by another process: open it anew after a fork")
        return self._writer.submit(verb, items, now)

    async def _many(self, verb: str, items: Sequence[Any], now: int | None) -> Answers:
        misfits = {place: error for place, item in enumerate(items) if (error := misfit(verb, item)) is not None}
        if misfits:
            rest = [item for place, item in enumerate(items) if place not in misfits]
            answers = iter(await self._many(verb, rest, now))
            return [misfits[place] if place in misfits else next(answers) for place in range(len(items))]
        if not items:
            return []
        return cast(Answers, await self._submit(verb, items, now).answers())

    async def _single(self, verb: str, item: Any, now: int | None) -> object:
        error = misfit(verb, item)
        if error is not None:
            raise error
        (answer,) = await self._submit(verb, [item], now).answers()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _one(self, verb: str, item: Any, now: int | None) -> Coroutine[Any, Any, Answer]:
        return cast(Coroutine[Any, Any, Answer], self._single(verb, item, now))

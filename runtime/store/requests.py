"""How a verb reaches the writer: a request is handed over, its answers are awaited, an item's own error is raised."""

import os
from collections.abc import Sequence
from typing import Any, cast

from runtime.protocol.errors import ItemError, StoreClosed
from runtime.protocol.records import Answer
from runtime.store.reads import Reads
from runtime.store.sqlite import Connection, Files
from runtime.store.writer import Request, Writer

Answers = list[Answer | ItemError]


class Requests(Reads):
    """A store's reading half, and the way to its writer."""

    def __init__(self, files: Files, writer: Writer, reader: Connection, store_id: str, clock: str) -> None:
        super().__init__(files, reader, store_id, clock)
        self._writer = writer

    def _submit(self, verb: str, items: Sequence[Any], now: int | None) -> Request:
        if os.getpid() != self._opened_by:
            raise StoreClosed("this store was opened by another process: open it anew after a fork")
        return self._writer.submit(verb, items, now)

    async def _many(self, verb: str, items: Sequence[Any], now: int | None) -> Answers:
        if not items:
            return []
        return cast(Answers, await self._submit(verb, items, now).answers())

    async def _single(self, verb: str, item: Any, now: int | None) -> object:
        (answer,) = await self._submit(verb, [item], now).answers()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _one(self, verb: str, item: Any, now: int | None) -> Answer:
        return cast(Answer, await self._single(verb, item, now))

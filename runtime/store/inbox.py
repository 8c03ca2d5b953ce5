"""The receiver's own database file: what was delivered, once, and what it added up to (contract §10).

It is a second, independent file with its own application id, schema, turnstile and connection. Nothing is atomic
between it and a store. Deliveries that wait for the connection at one time are judged and kept in one transaction.
"""

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from anyio import CancelScope

from runtime.protocol.canonical import check_integer, decode
from runtime.protocol.errors import CommitUnknown, ItemError, StoreBusy, StoreClosed, StoreError
from runtime.protocol.receive import LEAST_DELTA, MOST_DELTA, Delivery, Message, Receipt, check_delivery
from runtime.store import points, statements
from runtime.store.group import commit, roll_back
from runtime.store.sqlite import Connection, Files, named, open_writer
from runtime.store.turnstile import Turnstile
from runtime.store.upgrade import Kind, upgrade
from runtime.store.verbs.receive import receive

APPLICATION_ID = 0x4B535458
RECEIVER = Kind("upgrade_inbox", "inbox_schema", APPLICATION_ID)
CHECKPOINT_AT_BYTES = 4 * 1024 * 1024
Result = TypeVar("Result")


class _Waiting:
    """Deliveries of one caller; the answers are there once their transaction is committed."""

    def __init__(self, messages: list[Message | ItemError]) -> None:
        self.messages = messages
        self.answers: list[Receipt | ItemError] | None = None
        self.error: StoreError | None = None


class Inbox:
    """A receiver's file; make it with `await Inbox.open(path)` and `await inbox.close()`."""

    def __init__(self, files: Files, connection: Connection, turnstile: Turnstile, deadline_ms: int) -> None:
        self._files = files
        self._connection = connection
        self._turnstile = turnstile
        self._deadline_ms = deadline_ms
        self._waiting: deque[_Waiting] = deque()
        self._pid = os.getpid()
        self._closed: StoreError | None = None
        self._gone = False

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        *,
        max_delta: int = MOST_DELTA,
        create: bool = True,
        durability: str = "full",
        deadline_ms: int = 10_000,
    ) -> "Inbox":
        """Open a receiver's file; a missing one is created (0600) if `create`. `max_delta` counts only at creation.

        Raises `UnsafePath`, `ForeignFile` (a store's file is one), `NewerSchema`, `StoreBusy` or another `StoreError`.
        """
        check_integer(max_delta, "max_delta", least=LEAST_DELTA, most=MOST_DELTA)
        files = Files.check(path, create=create)
        connection = await open_writer(
            files, durability=durability, deadline_ms=deadline_ms, application=APPLICATION_ID
        )
        try:
            await connection.run(_prepare(files, max_delta, deadline_ms))
            turnstile = Turnstile(files.path)
        except BaseException:
            await connection.close()
            raise
        return cls(files, connection, turnstile, deadline_ms)

    async def close(self) -> None:
        """Close the connection, inside a turn: the last one to go moves the write-ahead file into the database."""
        if self._gone:
            return
        self._gone = True
        self._closed = self._closed or StoreClosed("this inbox is closed: open it anew")
        with CancelScope(shield=True):
            try:
                with suppress(StoreBusy):
                    await self._connection.run(lambda _: self._turnstile.enter(self._deadline()))
            finally:
                # the thread may still wait if this was cancelled; the turn's files are closed last, since that gives
                # the turn back
                self._turnstile.give_up()
                try:
                    await self._connection.close()
                finally:
                    self._turnstile.close()

    async def __aenter__(self) -> "Inbox":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def receive(self, event_id: str, flow: str, seq: int, body: Any) -> Receipt:
        """`accepted`, `duplicate`, `conflict`, `gap` or `unsupported`, with the cause in words.

        The same id with the same flow, seq and body is a `duplicate`. Raises `InvalidValue` for anything that is no
        delivery, and a `StoreError` for broken infrastructure.
        """
        (answer,) = await self.receive_many([Delivery(event_id, flow, seq, body)])
        if isinstance(answer, ItemError):
            raise answer
        return answer

    async def receive_many(self, deliveries: Sequence[Delivery]) -> list[Receipt | ItemError]:
        """The batch form of `receive`: judged in the order given; a bad item has its error in its place."""
        messages = [_checked(delivery) for delivery in deliveries]
        if not any(isinstance(message, Message) for message in messages):
            return [message for message in messages if isinstance(message, ItemError)]
        waiting = _Waiting(messages)
        self._waiting.append(waiting)
        await self._run(self._take_all)
        if waiting.error is not None:
            raise waiting.error
        assert waiting.answers is not None
        return waiting.answers

    async def set_max_delta(self, value: int) -> None:
        """Raise or lower the receiver's capability; what stands is not touched."""
        check_integer(value, "max_delta", least=LEAST_DELTA, most=MOST_DELTA)

        def put(raw: sqlite3.Connection) -> None:
            raw.execute(statements.load("set_max_delta")["put"], {"max_delta": value})
            points.reach("set_max_delta", "put")

        await self._run(lambda raw: self._write(raw, "set_max_delta", put))

    async def max_delta(self) -> int:
        """The largest delta that the receiver takes at present."""
        ((value,),) = await self._read("max_delta")
        return int(value)

    async def totals(self) -> dict[str, int]:
        """What the deliveries added up to, by flow."""
        return dict(await self._read("totals"))

    async def dump(self) -> dict[str, list[dict[str, Any]]]:
        """Every table but the list of migrations, which holds times; ordered by key, as plain data."""
        receipts, flows = await self._read("receipts"), await self._read("flows")
        return {
            "inbox_setting": [{"max_delta": await self.max_delta()}],
            "inbox_receipt": [
                {"event_id": event_id, "flow": flow, "seq": seq, "body": decode(body)}
                for event_id, flow, seq, body in receipts
            ],
            "inbox_flow": [{"flow": flow, "next_seq": next_seq, "total": total} for flow, next_seq, total in flows],
        }

    async def _read(self, name: str) -> list[Any]:
        return await self._run(lambda raw: raw.execute(statements.load("inbox")[name]).fetchall())

    async def _run(self, unit: Callable[[sqlite3.Connection], Result]) -> Result:
        if os.getpid() != self._pid:
            raise StoreClosed("this inbox was opened by another process: open it anew after a fork")
        if self._closed is not None:
            raise self._closed
        return await self._connection.run(unit)

    def _take_all(self, raw: sqlite3.Connection) -> None:
        """Judge and keep everything that waits; the deliveries of whoever comes later are answered by then."""
        group: list[_Waiting] = []
        while self._waiting:
            group.append(self._waiting.popleft())
        if not group:
            return
        try:
            answers = self._write(
                raw, "receive", lambda raw: [receive(raw, waiting.messages) for waiting in group]
            )
        except StoreError as error:
            for waiting in group:
                waiting.error = error
        else:
            for waiting, found in zip(group, answers, strict=True):
                waiting.answers = found

    def _write(self, raw: sqlite3.Connection, verb: str, change: Callable[[sqlite3.Connection], Result]) -> Result:
        """One write transaction inside a turn. A `StoreError` before COMMIT means that nothing was written."""
        self._turnstile.enter(self._deadline())
        try:
            try:
                raw.execute("begin immediate")
                points.reach(verb, "begin")
                result = change(raw)
                points.reach(verb, "before_commit")
            except BaseException as error:
                roll_back(raw, error)
                if isinstance(error, sqlite3.Error):
                    raise named(error, f"{self._files.path}: the receiver's transaction was undone") from error
                raise
            self._commit(raw)
            points.reach(verb, "after_commit")
            if self._files.wal_bytes() > CHECKPOINT_AT_BYTES:
                raw.execute("pragma wal_checkpoint(truncate)").fetchall()
            return result
        finally:
            self._turnstile.leave()

    def _commit(self, raw: sqlite3.Connection) -> None:
        try:
            commit(raw)
        except CommitUnknown as failure:
            self._closed = failure
            raise

    def _deadline(self) -> float:
        return time.monotonic() + self._deadline_ms / 1000


def _prepare(files: Files, max_delta: int, deadline_ms: int) -> Callable[[sqlite3.Connection], None]:
    def first_row(raw: sqlite3.Connection) -> None:
        raw.execute(statements.load("inbox")["first_setting"], {"max_delta": max_delta})

    return upgrade(files, RECEIVER, first_row, deadline_ms=deadline_ms)


def _checked(delivery: Delivery) -> Message | ItemError:
    try:
        return check_delivery(delivery)
    except ItemError as error:
        return error

"""Group commit: one coroutine takes every request that waits, runs them as one unit on the connection's thread, and
answers only after the commit.

A caller that is cancelled merely stops listening; a request that has not started by then is withdrawn, and claims that
nobody takes are released. This coroutine lives in no task group: no caller's cancellation may reach it, and it ends by
being told to.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from runtime.protocol.errors import CommitUnknown, StoreClosed, StoreError
from runtime.protocol.records import Callback, Claims
from runtime.store.group import Groups
from runtime.store.sqlite import Connection, Files

LARGEST_GROUP = 512
log = logging.getLogger("keepstep.store")


class Request:
    """One caller's items for one verb."""

    __slots__ = ("_give_back", "_waiting", "error", "future", "items", "now", "results", "verb")

    def __init__(
        self,
        verb: str,
        items: Sequence[Any],
        now: int | None,
        future: "asyncio.Future[None]",
        give_back: "Callable[[Request], None] | None" = None,
    ) -> None:
        self.verb = verb
        self.items = items
        self.now = now
        self.future = future
        self.results: list[Any] = []
        self.error: BaseException | None = None
        self._waiting = [True]
        self._give_back = give_back

    def start(self) -> bool:
        """Whether it is to be run now; a withdrawn request is not, a started one cannot be withdrawn any more."""
        try:
            return self._waiting.pop()
        except IndexError:
            return False

    async def answers(self) -> list[Any]:
        """The answers, one per item; raises what failed the request as a whole."""
        try:
            await self.future
        except asyncio.CancelledError:
            self.abandon()
            raise
        self._give_back = None
        return self.results

    def abandon(self) -> None:
        """Nobody listens any more: withdrawn if it has not started; an answer that is there already is given back."""
        self.start()
        if not self.future.done():
            self.future.cancel()
        elif not self.future.cancelled() and self._give_back is not None:
            self._give_back(self)
        self._give_back = None

    async def outcome(self) -> list[Any]:
        """As `answers`, with an exception that failed the request in the place of every item."""
        try:
            return await self.answers()
        except StoreError as error:
            return [error] * len(self.items)


class Writer:
    """The one writer of a connection."""

    def __init__(self, connection: Connection, files: Files, *, deadline_ms: int, sweep_limit: int) -> None:
        self._connection = connection
        self._groups = Groups(files, deadline_ms=deadline_ms, sweep_limit=sweep_limit)
        self._waiting: deque[Request] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._listeners: list[Callable[[], None]] = []
        self.failed: BaseException | None = None

    def start(self) -> None:
        """Begin to serve."""
        self._task = asyncio.get_running_loop().create_task(self._serve(), name="keepstep writer")

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after each commit; returns how to stop that."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    def submit(self, verb: str, items: Sequence[Any], now: int | None) -> Request:
        """Hand a request over; it joins the next group."""
        if self.failed is not None:
            raise CommitUnknown(f"this process no longer serves the store: {self.failed}") from self.failed
        if self._closing:
            raise StoreClosed("the store is closed: open it anew")
        return self._enqueue(verb, items, now)

    def _enqueue(self, verb: str, items: Sequence[Any], now: int | None) -> Request:
        request = Request(verb, items, now, asyncio.get_running_loop().create_future(), self._give_back)
        self._waiting.append(request)
        self._wake.set()
        return request

    async def checkpoint(self) -> None:
        """A truncating checkpoint inside a turn."""
        await self.submit("checkpoint", [None], None).answers()

    async def close(self) -> None:
        """Serve what waits, then end; a checkpoint empties the write-ahead file if nobody else needs it."""
        if self._task is None:
            return
        self._closing = True
        self._wake.set()
        task, self._task = self._task, None
        try:
            await asyncio.shield(task)
        finally:
            # a unit is still on the thread if this was cancelled; the turn's files are closed last, since that gives
            # the turn back
            self._groups.give_up()
            try:
                await self._connection.close()
            finally:
                self._groups.close()

    async def _serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                group = [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST_GROUP))]
                await self._run(group)
            if self._closing:
                return

    async def _run(self, group: list[Request]) -> None:
        try:
            if self.failed is not None:
                raise self.failed
            await self._connection.run(lambda raw: self._groups.run(raw, group))
        except BaseException as error:
            for request in group:
                request.error = request.error or error
        for request in group:
            self._answer(request)
        for listener in tuple(self._listeners):
            listener()

    def _answer(self, request: Request) -> None:
        if isinstance(request.error, CommitUnknown):
            self.failed = request.error
        if request.future.done():
            self._give_back(request)
        elif request.error is not None:
            request.future.set_exception(request.error)
            # a settle may be cancelled before it listens to all its requests
            request.future.exception()
        else:
            request.future.set_result(None)

    def _give_back(self, request: Request) -> None:
        """Release claims whose receiver has gone."""
        if request.verb != "claim" or not request.results or request.error is not None or self.failed is not None:
            return
        orphans = [
            Callback(claim.token, "the receiver of the claim has gone", item.worker.id)
            for item, answer in zip(request.items, request.results, strict=True)
            if isinstance(answer, Claims)
            for claim in answer.claims
        ]
        if orphans:
            log.info("released %d claims whose receiver has gone", len(orphans))
            # at the stored tick: a logical clock may have moved on since the claim
            self._enqueue("release", orphans, None)

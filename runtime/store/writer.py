"""Group commit: the writer takes every request that waits, runs them as one unit on the connection's thread, and
answers only after the commit.

A caller that is cancelled merely stops listening; a request that has not started by then is withdrawn, and claims that
nobody takes are released. The writer is no task: the event loop calls it when a request has come and when a unit has
ended, so no caller's cancellation can reach it, an answer takes one turn of the loop, and it ends by being told to.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from runtime.protocol.errors import CommitUnknown, StoreClosed, StoreError
from runtime.protocol.records import Callback, Claims
from runtime.store.group import Groups
from runtime.store.sqlite import Connection, Files, Raw

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
    """The one writer of a connection; made on the event loop that it answers on."""

    def __init__(self, connection: Connection, files: Files, *, deadline_ms: int, sweep_limit: int) -> None:
        self._connection = connection
        self._groups = Groups(files, deadline_ms=deadline_ms, sweep_limit=sweep_limit)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Request] = deque()
        self._serving = False
        self._ended: asyncio.Future[None] | None = None
        self._listeners: list[Callable[[], None]] = []
        self.failed: BaseException | None = None

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after each commit; returns how to stop that."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    def submit(self, verb: str, items: Sequence[Any], now: int | None) -> Request:
        """Hand a request over; it joins the next group."""
        if self.failed is not None:
            raise CommitUnknown(f"this process no longer serves the store: {self.failed}") from self.failed
        if self._ended is not None:
            raise StoreClosed("the store is closed: open it anew")
        return self._enqueue(verb, items, now)

    def _enqueue(self, verb: str, items: Sequence[Any], now: int | None) -> Request:
        request = Request(verb, items, now, self._loop.create_future(), self._give_back)
        self._waiting.append(request)
        if not self._serving:
            # not at once: what others hand over in this turn of the loop belongs to the same group
            self._serving = True
            self._loop.call_soon(self._serve)
        return request

    async def checkpoint(self) -> None:
        """A truncating checkpoint inside a turn."""
        await self.submit("checkpoint", [None], None).answers()

    async def close(self) -> None:
        """Serve what waits, then end; a checkpoint empties the write-ahead file if nobody else needs it."""
        if self._ended is not None:
            return
        self._ended = self._loop.create_future()
        if not self._serving:
            self._ended.set_result(None)
        try:
            await self._ended
        finally:
            # a unit is still on the thread if this was cancelled; the turn's files are closed last, since that gives
            # the turn back
            self._groups.give_up()
            try:
                await self._connection.close()
            finally:
                self._groups.close()

    def _serve(self) -> None:
        """Hand what waits to the thread; end if nothing does."""
        if self._waiting:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST_GROUP))]
            if self.failed is not None:
                self._finish(group, self.failed)
                return
            try:
                self._connection.hand_over(partial(self._run, group))
            except ValueError as error:  # the connection was closed
                self._finish(group, error)
            return
        self._serving = False
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def _run(self, group: list[Request], raw: Raw) -> None:
        """On the connection's thread: one unit. What comes after its answers is nobody's in particular."""
        try:
            self._groups.run(raw, group, lambda: self._loop.call_soon_threadsafe(self._finish, group))
        except BaseException:
            log.exception("after a unit's answers")

    def _finish(self, group: list[Request], error: BaseException | None = None) -> None:
        """Answer a group, and go on with what has come meanwhile."""
        for request in group:
            request.error = request.error or error
            self._answer(request)
        for listener in tuple(self._listeners):
            listener()
        self._serve()

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

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
from contextlib import suppress
from functools import partial
from typing import Any

from runtime.protocol.errors import CommitUnknown, StoreClosed, StoreError
from runtime.protocol.records import Callback, Claims
from runtime.store.group import Groups
from runtime.store.sqlite import Connection, Files, Raw
from runtime.store.wakeup import WakeUp

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
        self._ready: deque[list[Request]] = deque()
        self._wake_up = WakeUp(self._loop, self._finish)
        self._serving = False
        self._soon: asyncio.Handle | None = None
        self._closed = False
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
        self._serve_soon()
        return request

    def _serve_soon(self) -> None:
        """Not at once: what others hand over in this turn of the loop belongs to the same group."""
        if not self._serving:
            self._serving = True
            self._soon = self._loop.call_soon(self._serve)

    def send(self) -> None:
        """Send what waits now, if the thread is free: whoever has handed over all that makes a group need not wait for
        others."""
        if self._soon is not None:
            self._soon.cancel()
            self._serve()

    async def close(self) -> None:
        """Serve what waits, then end; the last to close a file empties its write-ahead file."""
        if self._ended is not None:
            return
        self._ended = self._loop.create_future()
        # a receiver that is being cancelled hands its claims back in this turn of the loop
        self._serve_soon()
        try:
            await self._ended
            while self._serving:
                self._ended = self._loop.create_future()
                await self._ended
        finally:
            # a unit is still on the thread if this was cancelled: the turn's files are closed behind it, there
            self._groups.give_up()
            self._closed = True
            self._connection.hand_over(self._end)
            await self._connection.close()

    def _end(self, raw: Raw) -> None:
        """On the connection's thread, behind its last unit."""
        self._groups.close()
        with suppress(RuntimeError):  # the loop was closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._hang_up)

    def _hang_up(self) -> None:
        self._wake_up.close()
        # a group that was ready and not heard: its callers wait
        self._finish()

    def _serve(self) -> None:
        """Hand what waits to the thread; end if nothing does."""
        self._soon = None
        while self._waiting:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST_GROUP))]
            error = self.failed or (StoreClosed("the store is closed: open it anew") if self._closed else None)
            if error is None:
                self._connection.hand_over(partial(self._run, group))
                return
            self._answer_all(group, error)
        self._serving = False
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def _run(self, group: list[Request], raw: Raw) -> None:
        """On the connection's thread: one unit. What comes after its answers is nobody's in particular."""
        try:
            self._groups.run(raw, group, lambda: self._tell(group))
        except BaseException:
            log.exception("a unit failed after its answers")

    def _tell(self, group: list[Request]) -> None:
        self._ready.append(group)
        self._wake_up.call()

    def _finish(self) -> None:
        """Answer the group that is ready, and go on with what has come meanwhile."""
        while self._ready:
            try:
                self._answer_all(self._ready.popleft())
            finally:
                self._serve()

    def _answer_all(self, group: list[Request], error: BaseException | None = None) -> None:
        for request in group:
            request.error = request.error or error
            self._answer(request)
        for listener in tuple(self._listeners):
            try:
                listener()
            except Exception:
                log.exception("a listener failed")

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
            # at the stored tick: a logical clock may have moved on since the claim
            release = self._enqueue("release", orphans, None)
            release.future.add_done_callback(lambda ended: _tell_released(len(orphans), ended))


def _tell_released(count: int, ended: "asyncio.Future[None]") -> None:
    if ended.cancelled() or ended.exception() is not None:
        log.warning("%d claims whose receiver has gone could not be released, their leases will lapse", count)
    else:
        log.info("released %d claims whose receiver has gone", count)

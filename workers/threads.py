"""Plain `def` handlers, in threads."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError as ThreadCancelled
from typing import Any

from anyio import CancelScope, CapacityLimiter, get_cancelled_exc_class, to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from workers.context import Context, SyncContext
from workers.findings import Ending, Raised, Returned


class Threads:
    """Room for `places` handlers at once. A thread cannot be cancelled: its attempt waits until it has ended."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._limiter: CapacityLimiter | None = None

    async def call(self, function: Callable[..., Any], context: Context, params: dict[str, Any]) -> Ending:
        """How the handler ended. A cancellation gets through only if it did not begin, or gave way to one."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(self._places)
        call = Call(function, context, params)
        try:
            await to_thread.run_sync(call, limiter=self._limiter)
        finally:
            if context.begun:
                await call.ended()
        ending = call.ending
        if isinstance(ending, Raised) and isinstance(ending.error, (get_cancelled_exc_class(), ThreadCancelled)):
            await checkpoint_if_cancelled()
        return ending


class Call:
    """One call in a thread, which notes its ending instead of raising."""

    def __init__(self, function: Callable[..., Any], context: Context, params: dict[str, Any]) -> None:
        self._function = function
        self._context = context
        self._params = params
        self._over = threading.Event()
        self.ending: Ending = Raised(RuntimeError("the handler did not begin"))

    def __call__(self) -> None:
        self._context.begun = True
        try:
            own = SyncContext(self._context)
            try:
                self.ending = Returned(self._function(own, **self._params))
            finally:
                self._context.writes = own.close()
        except BaseException as error:
            self.ending = Raised(error)
        finally:
            self._over.set()

    async def ended(self) -> None:
        """Waits until the thread has ended, even where a native cancellation pierced anyio's shield."""
        while not self._over.is_set():
            with CancelScope(shield=True):
                await to_thread.run_sync(self._over.wait, limiter=CapacityLimiter(1))

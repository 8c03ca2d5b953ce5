"""A bell: calls into one event loop from any thread or signal handler, without waiting for that loop."""

import socket
from collections import deque
from collections.abc import Callable
from typing import Any

from anyio import wait_readable


class Bell:
    """Made anywhere, answered by one loop in `serve`. A loop that is blocked or gone keeps nobody waiting."""

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        self._calls: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()

    def call(self, function: Callable[..., object], *args: Any) -> None:
        """Have the loop call `function(*args)` soon. Returns at once, also in a signal handler."""
        self._calls.append((function, args))
        try:
            self._far.send(b"\0")
        except OSError:
            # full: it rings already; closed: nobody answers any more
            return

    async def serve(self) -> None:
        """Answer until cancelled."""
        while True:
            await wait_readable(self._near)
            self._near.recv(4096)
            self._answer()

    def _answer(self) -> None:
        # apart from `serve`, whose frame would keep the last call's arguments for as long as it waits
        while self._calls:
            function, args = self._calls.popleft()
            function(*args)

    def close(self) -> None:
        """Free both ends, once `serve` has ended."""
        self._near.close()
        self._far.close()

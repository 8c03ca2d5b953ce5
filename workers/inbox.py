"""The receiving side: a second, independent file that keeps every delivery once and adds up its effect."""

import os
from typing import Any

import anyio

from runtime.protocol.receive import Delivery, Receipt, Received
from runtime.store.inbox import Inbox

__all__ = ["Delivery", "Inbox", "InboxAt", "Receipt", "Received"]


class InboxAt:
    """A receiver that opens its file at the first delivery, in whichever process that happens."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._lock: anyio.Lock | None = None
        self._inbox: Inbox | None = None

    async def receive(self, event_id: str, flow: str, seq: int, body: Any) -> Receipt:
        """`accepted`, `duplicate`, `conflict`, `gap` or `unsupported`."""
        if self._lock is None:
            self._lock = anyio.Lock()
        async with self._lock:
            if self._inbox is None:
                self._inbox = await Inbox.open(self._path)
        return await self._inbox.receive(event_id, flow, seq, body)

    async def close(self) -> None:
        """Close the file, if it was opened."""
        if self._inbox is not None:
            await self._inbox.close()

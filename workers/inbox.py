"""The receiving side: a second, independent file that keeps every delivery once and adds up its effect."""

import os
from typing import Any

import anyio

from runtime.protocol.errors import CommitUnknown
from runtime.protocol.receive import Delivery, Receipt, Received
from runtime.store.inbox import Inbox

__all__ = ["Delivery", "Inbox", "InboxAt", "Receipt", "Received"]


class InboxAt:
    """A receiver that opens its file at the first delivery, in whichever process that happens.

    After an unknown outcome the file is opened anew: the same delivery is then told `duplicate` if it had happened.
    """

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
            inbox = self._inbox
        try:
            return await inbox.receive(event_id, flow, seq, body)
        except CommitUnknown:
            async with self._lock:
                if self._inbox is inbox:
                    self._inbox = None
                    await inbox.close()
            raise

    async def close(self) -> None:
        """Close the file, if it was opened."""
        if self._inbox is not None:
            await self._inbox.close()

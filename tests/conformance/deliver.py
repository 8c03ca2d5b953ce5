"""A program for the receiver's test: delivers every event of one flow, in turn, and prints how they were answered.

python -P deliver.py PATH EVENTS
"""

import sys
from collections import Counter

import anyio
import msgspec

from runtime.protocol.receive import Received
from runtime.store.inbox import Inbox


async def deliver(path: str, events: int) -> None:
    """Each event until it is there."""
    seen: Counter[str] = Counter()
    async with await Inbox.open(path) as inbox:
        for seq in range(1, events + 1):
            verdict = (await inbox.receive(f"a{seq}", "a", seq, {"delta": 1})).verdict
            seen[verdict.value] += 1
            assert verdict in (Received.ACCEPTED, Received.DUPLICATE), verdict
    sys.stdout.buffer.write(msgspec.json.encode(seen))


if __name__ == "__main__":
    anyio.run(deliver, sys.argv[1], int(sys.argv[2]))

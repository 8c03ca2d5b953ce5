"""A process that starts a pool at each path that it reads, and says when that pool has polled and found nothing.

    python -m tests.cases.starts
"""

import asyncio
import sys

from runtime.embed import connect, run
from tests.cases.apps import app


async def start(path: str) -> None:
    """One pool, from opening the file to its first idle look."""
    async with connect(path) as store:
        await run(app, store, until_idle=True)


if __name__ == "__main__":
    print("READY", flush=True)
    for line in sys.stdin:
        asyncio.run(start(line.strip()))
        print("POLLED", flush=True)

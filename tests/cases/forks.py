"""A program that forks while it has a store open, and writes on both sides.

    python -m tests.cases.forks DATABASE CYCLES

It prints what the children ended with.
"""

import asyncio
import json
import multiprocessing
import os
import sys
from collections import Counter

from runtime.protocol.errors import StoreClosed
from runtime.store.store import Store
from tests.cases import apps

NOT_REFUSED, WROTE = 1, 0


async def write(path: str, name: str) -> None:
    """Write with a store of one's own."""
    async with await Store.open(path) as store:
        await store.admit("quick", name, 1, flow=name)


def child(store: Store, path: str, name: str) -> int:
    """In a forked process: what was inherited refuses every call, what is opened anew works."""
    for ask in (store.admit("quick", "never", 1), store.job(name), store.control()):
        try:
            asyncio.run(ask)
        except StoreClosed:
            continue
        return NOT_REFUSED
    asyncio.run(write(path, name))
    return WROTE


def forked(store: Store, path: str, name: str) -> int:
    """A child by os.fork; returns its process id."""
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            code = child(store, path, name)
        finally:
            os._exit(code)
    return pid


def main(path: str, cycles: int) -> None:
    """Fork again and again; half of the children by multiprocessing."""
    fork = multiprocessing.get_context("fork")
    ended: Counter[int] = Counter()
    with asyncio.Runner() as runner:
        store = runner.run(Store.open(path))
        runner.run(apps.app.prepare(store))
        for cycle in range(cycles):
            name = f"{cycle}"
            if cycle % 2:
                process = fork.Process(target=lambda name=name: sys.exit(child(store, path, name)))
                process.start()
                runner.run(store.admit("quick", f"parent-{name}", 1))
                process.join()
                ended[process.exitcode or 0] += 1
            else:
                pid = forked(store, path, name)
                runner.run(store.admit("quick", f"parent-{name}", 1))
                ended[os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])] += 1
        runner.run(store.close())
    print(json.dumps(ended), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

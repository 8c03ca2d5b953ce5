"""A second program that holds a store's write lock, or its turn, until a line arrives on its standard input.

python -P holder.py PATH lock|turn
"""

import faulthandler
import sqlite3
import sys
import time
from contextlib import closing

from runtime.store.turnstile import Turnstile


def wait() -> None:
    """Say that it is held, and hold it."""
    print("READY", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    faulthandler.dump_traceback_later(30, exit=True)
    path, kind = sys.argv[1:]
    if kind == "turn":
        turnstile = Turnstile(path)
        turnstile.enter(time.monotonic() + 10)
        wait()
        turnstile.leave()
    else:
        with closing(sqlite3.connect(path, isolation_level=None)) as raw:
            raw.execute("begin immediate")
            wait()
            raw.execute("rollback")

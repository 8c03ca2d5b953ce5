"""announce: worker processes say that they live. Wall time, whatever the store's clock is."""

import json
import sqlite3
from collections.abc import Sequence

from runtime.protocol.canonical import check_name
from runtime.protocol.records import Worker
from runtime.store.transaction import Transaction

FORGET_AFTER_MS = 3_600_000


def announce(tx: Transaction, items: Sequence[tuple[Worker, str, int, int]]) -> list[None]:
    """Say that these workers live: (worker, host, pid, started_at_ms)."""
    for worker, host, pid, started_at_ms in items:
        params = {
            "worker": tx.worker(check_name(worker.id, "worker")),
            "host": check_name(host, "host"),
            "pid": pid,
            "started_at_ms": started_at_ms,
            "now_ms": tx.wall_ms,
            "digests": json.dumps(sorted(worker.manifests)),
            "engine": sqlite3.sqlite_version,
        }
        tx.rows("announce.put", params)
    tx.rows("announce.forget", {"before_ms": tx.wall_ms - FORGET_AFTER_MS})
    return [None] * len(items)

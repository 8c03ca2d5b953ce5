"""A file as the first schema had it, with a job of every kind; its statements are this schema's, written by hand."""

import sqlite3
from contextlib import closing
from pathlib import Path

from demos.scenarios.cases import ONE
from runtime.store import statements
from runtime.store.sqlite import APPLICATION_ID

ROWS = (
    "insert into keepstep_control (id, store_id, clock, ticket, unfinished, effects, last_job, last_flow, created_at) "
    "values (1, 'store-1', 'logical', 5, 8, 1, 9, 7, 0)",
    "insert into keepstep_route values ('note', 1, 1)",
    "insert into keepstep_audit (at, actor, verb, subject, before, after) "
    "values (0, 'op', 'switch', 'note', '{}', '{}')",
    "insert into keepstep_worker values (1, 'worker')",
    "insert into keepstep_flow values (1, null, 0, 3, 2, 1, 0, 1, 1)",
    "insert into keepstep_flow values (2, 'a', 0, 1, 4, 3, 1, null, null)",
    "insert into keepstep_flow values (3, null, 0, 2, 2, 1, 1, null, null)",
    "insert into keepstep_flow values (4, null, 0, 4, 2, 1, 0, null, null)",
    "insert into keepstep_flow values (6, null, 0, 3, 2, 1, 0, 8, 1)",
    "insert into keepstep_flow values (7, 'w', 2, 3, 2, 1, 0, 9, 1)",
)
# key, flow, seq, state, cursor, claims, due, lease, since, worker, reason
JOBS = (
    ("waited", 1, 1, 0, 0, 0, None, None, 0, None, None),
    ("a1", 2, 1, 2, 0, 1, 6, 5, 0, 1, None),
    ("a2", 2, 2, 0, 0, 0, None, None, 0, None, None),
    ("a3", 2, 3, 0, 0, 0, None, None, 0, None, None),
    ("later", 3, 1, 1, 0, 1, 9, None, 0, None, "broken"),
    ("stuck", 4, 1, 4, 0, 1, None, None, 0, None, "unsure"),
    ("done", 5, 1, 5, 1, 1, None, None, 0, None, None),
    ("released", 6, 1, 0, 0, 1, None, None, 0, None, "stopping"),
    ("free", 7, 1, 0, 0, 0, None, None, 0, None, None),
)


def make(path: Path) -> None:
    """The file."""
    number, name, parts = statements.numbered("migrations")[0]
    path.touch(0o600)
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("pragma journal_mode = wal")
        raw.execute("begin")
        for sql in parts.values():
            raw.execute(sql)
        raw.execute("insert into keepstep_schema values (?, ?, 0)", (number, name))
        raw.execute(
            "insert into keepstep_definition values (1, ?, 'note', 1, ?)", (ONE.digest, ONE.canonical.decode())
        )
        raw.execute("insert into keepstep_step values (1, 0, 'note', 3, 2, 60, 5, 60, 0)")
        for sql in ROWS:
            raw.execute(sql)
        for number, (key, flow, seq, state, cursor, claims, *rest) in enumerate(JOBS, 1):
            attempts = 0 if state == 5 else claims
            row = (number, key, flow, seq, 1, 1, 0, state, cursor, claims, attempts, claims, *rest, 0)
            raw.execute(f"insert into keepstep_job values ({', '.join('?' * len(row))})", row)
            raw.execute("insert into keepstep_payload values (?, '{\"units\":10}')", (number,))
        raw.execute("insert into keepstep_effect values (7, 0, 1, 0, 1, 1, '10')")
        raw.execute("insert into keepstep_tally select definition, state, count(*) from keepstep_job group by 1, 2")
        raw.execute(f"pragma application_id = {APPLICATION_ID}")
        raw.execute("pragma user_version = 1")
        raw.execute("commit")


def told(path: Path) -> list[str]:
    """The whole file as statements, read without opening it as a store."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as raw:
        version = raw.execute("pragma user_version").fetchone()
        return [f"version {version[0]}", *raw.iterdump()]

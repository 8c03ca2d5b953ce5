"""The statements on the hot path look everything up: no plan scans a table, whatever the backlog."""

import re
import sqlite3
from collections.abc import Iterator

import pytest

from runtime.store import statements
from runtime.store.transaction import SQL

HOT = ("claim", "commit_step", "admit", "fail", "release", "quarantine", "renew", "sweep", "transaction")
ONE_ROW = {"keepstep_control", "c"}
PARAMETER = re.compile(r":(\w+)|\?")
TEMPORARY = "USE TEMP B-TREE"
# they sort no more rows than digests x limit, or flows x limit
SORTING = {"claim.pick", "claim.more"}
STATEMENTS = [name for name in SQL if name.partition(".")[0] in HOT]


@pytest.fixture(scope="module")
def raw() -> Iterator[sqlite3.Connection]:
    """A connection to an empty store's schema."""
    connection = sqlite3.connect(":memory:")
    for _, _, parts in statements.numbered("migrations"):
        for sql in parts.values():
            connection.execute(sql)
    yield connection
    connection.close()


def plan(raw: sqlite3.Connection, sql: str) -> list[str]:
    """The lines of a statement's plan."""
    found = PARAMETER.findall(sql)
    values = {name: None for name in found if name} or [None] * len(found)
    return [row[3] for row in raw.execute(f"explain query plan {sql}", values)]


def scans(lines: list[str]) -> list[str]:
    """The lines that walk over a whole table; walking over a parameter's array or a subquery's few rows is none."""
    inner = {line.split()[1] for line in lines if line.startswith(("CO-ROUTINE", "MATERIALIZE"))} | ONE_ROW
    walks = [line for line in lines if line.startswith("SCAN") and "VIRTUAL TABLE" not in line]
    return [line for line in walks if line.split()[1] not in inner]


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_hot_statement_scans_no_table(name: str, raw: sqlite3.Connection) -> None:
    assert scans(plan(raw, SQL[name])) == []


@pytest.mark.parametrize("name", [name for name in STATEMENTS if name not in SORTING])
def test_a_hot_statement_sorts_nothing(name: str, raw: sqlite3.Connection) -> None:
    assert [line for line in plan(raw, SQL[name]) if TEMPORARY in line] == []


@pytest.mark.parametrize(
    ("name", "lookup"),
    [
        ("claim.pick", "SEARCH f USING INDEX keepstep_flow_turn (next_definition=?)"),
        ("claim.pick", "SEARCH a USING INDEX keepstep_job_turn (definition=?"),
        ("claim.more", "SEARCH keepstep_job USING INDEX keepstep_job_ready (flow=?)"),
        ("claim.jobs", "SEARCH keepstep_job USING INTEGER PRIMARY KEY (rowid=?)"),
        ("claim.next_due", "SEARCH keepstep_job USING COVERING INDEX keepstep_job_due (due>?)"),
        ("commit_step.done", "SEARCH keepstep_job USING INTEGER PRIMARY KEY (rowid=?)"),
        ("commit_step.advanced", "SEARCH keepstep_job USING INTEGER PRIMARY KEY (rowid=?)"),
        ("transaction.facts", "SEARCH j USING INDEX keepstep_job_key (key=?)"),
        ("transaction.refresh", "SEARCH keepstep_job USING INDEX keepstep_job_ready (flow=?)"),
        ("admit.known", "SEARCH j USING INDEX keepstep_job_key (key=?)"),
        ("admit.flows", "SEARCH f USING INDEX keepstep_flow_name (name=?)"),
        ("sweep.due", "SEARCH j USING INDEX keepstep_job_due (due<?)"),
    ],
)
def test_a_hot_statement_takes_its_named_index(name: str, lookup: str, raw: sqlite3.Connection) -> None:
    assert any(line.startswith(lookup) for line in plan(raw, SQL[name]))


def test_a_scan_would_be_seen(raw: sqlite3.Connection) -> None:
    assert scans(plan(raw, "select count(*) from keepstep_job j where j.reason = :reason")) == ["SCAN j"]

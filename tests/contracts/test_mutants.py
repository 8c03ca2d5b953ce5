"""The mutation drill still speaks of this code: every text that it breaks stands where it says, exactly once."""

from pathlib import Path

from tests.mutate import EVERY

ROOT = Path(__file__).parents[2]


def test_every_text_that_the_drill_breaks_stands_in_the_code_once() -> None:
    found = {one.clause: (ROOT / one.file).read_text("utf-8").count(one.old) for one in EVERY}
    assert {clause: count for clause, count in found.items() if count != 1} == {}


def test_every_clause_of_the_drill_is_changed_and_named_once() -> None:
    clauses = [one.clause for one in EVERY]
    assert sorted(set(clauses)) == sorted(clauses)
    assert [one.clause for one in EVERY if one.old == one.new] == []

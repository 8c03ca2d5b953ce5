"""The agent: its story, told once and told again over the same file; its calculator; a person's word from outside."""

from pathlib import Path

import pytest

from demos.agent.model import stub_model
from demos.agent.run import say_yes_or_no, tell
from demos.agent.tools import calculate, count_lines
from demos.story import Teller
from runtime.cli.app import main
from runtime.protocol.errors import InvalidValue, NoSuchJob
from runtime.store.store import Store

PROMISES = [
    "admit anna-1 → accepted, v1",
    "anna-1, turn 1 → search: ",
    "anna-1, turn 2 → count_lines: ",
    "anna-1, turn 3 → calculate: ",
    "anna-1, turn 4 → nothing is left to do",
    " at step 5, has looked ",
    "jobs show anna-2 → ready at step 0, behind anna-1",
    "(v2) → switched",
    "admit carl-1 → accepted, v2",
    "anna-1 keeps the list it was accepted with → v1",
    "→ refused: ",
    "→ migrated",
    "carl-1, approval → approved by a simulated person",
    "→ quarantined at step 7: outcome unknown: no reply to the delivery of ben-1",
    "→ redriven",
    "anna-2: done under v2, 9 steps → the press says 'printed', printed 1×",
    "ben-1: done under v1, 8 steps → the press says 'known', printed 1×",
    "on record for anna-2 → migrate by operator: wants its figures checked",
    "Approved by a simulated person.",
]
AGAIN = [
    "admit anna-1 → replay, v1",
    "new questions go to v2 → since an earlier telling",
    "→ refused: the job is ",
    "ben-1: done under v1, 8 steps → the press says 'known', printed 1×",
]


async def told(folder: Path, db: Path) -> str:
    """What the story says, with every run of spaces as one."""
    lines: list[str] = []
    await tell(Teller(lines.append), folder, db=db)
    return " ".join(" ".join(lines).split())


def missing(promises: list[str], text: str) -> list[str]:
    """The promises that the text does not keep."""
    return [promise for promise in promises if promise not in text]


async def test_the_story_says_what_it_promises_and_goes_on_over_its_own_file(tmp_path: Path) -> None:
    assert missing(PROMISES, await told(tmp_path, tmp_path / "agent.db")) == []
    assert missing(AGAIN, await told(tmp_path, tmp_path / "agent.db")) == []
    assert await say_yes_or_no(tmp_path / "agent.db", "anna-1", approved=False, by="eve") == (
        "anna-1 is approved by a simulated person"
    )
    with pytest.raises(NoSuchJob):
        await say_yes_or_no(tmp_path / "agent.db", "nobody", approved=True, by="eve")


async def test_a_file_without_a_library_is_named(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "other.db"):
        pass
    with pytest.raises(InvalidValue, match="demo library --db"):
        await tell(Teller(lambda line: None), tmp_path, library_db=tmp_path / "other.db")


def test_a_word_without_a_file_says_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "agent", "--approve", "anna-1"]) == 2
    assert "--db" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(812 + 431) / 200", "6.215"),
        ("-2 ** 2", "-4"),
        ("7 // 2 + 7 % 4", "6"),
        ("1 / 0", "refused: float division by zero"),
        ("2 ** 1000", "refused: a power takes a base from 0 and an exponent up to 64"),
        ("1e300 * 1e300", "refused: the result is no finite number"),
        ("__import__('os')", "refused: only numbers, parentheses and + - * / // % ** are calculated"),
        ("True + 1", "refused: only numbers, parentheses and + - * / // % ** are calculated"),
        ("(" * 400, "refused: "),
        ("1" * 501, "refused: at most 500 characters are calculated"),
    ],
)
def test_the_calculator_calculates_and_does_nothing_else(text: str, value: str) -> None:
    assert calculate(text).startswith(value)


async def test_a_program_that_fails_is_a_result_for_the_model(tmp_path: Path) -> None:
    assert (await count_lines(str(tmp_path / "nothing"))).startswith("refused: FileNotFoundError")


async def test_the_stub_knows_its_three_tasks() -> None:
    facts = {"question": "Which files speak about 'retry'?", "seen": [{"tool": "search", "result": []}]}
    assert await stub_model("next", facts) == {"tool": None}
    with pytest.raises(ValueError, match="plan, next and report"):
        await stub_model("sing", facts)

"""The README: its two set-up commands as they stand, its first app, and the drawings that are made by programs."""

import re
import shlex
from pathlib import Path

import pytest

from demos.picture import PATH, picture
from runtime.protocol.lifecycle import drawing
from tests.docs.page import README, ROOT, blocks
from tests.docs.player import Player

PAGES = list(blocks(README))
SET_UP = "python3 -m venv .venv && .venv/bin/pip install --quiet "


def test_every_section_with_commands_is_known() -> None:
    sections = [block.section for block in PAGES if block.language == "bash"]
    assert sections == ["Two commands", "Two commands", "A first app of your own"]


def test_the_two_commands_set_up_and_run(tmp_path: Path) -> None:
    main, tests = [block.text for block in PAGES if block.section == "Two commands"]
    assert main.startswith(SET_UP + ". && ")
    assert tests == f"{SET_UP}'.[test]' && .venv/bin/python -m pytest -n 2"
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "note.md").write_text("# A note\n\ndurable words\n")
    command = main.removeprefix(SET_UP + ". && ").replace("demo library", f"demo library {shlex.quote(str(shelf))}")
    with Player(tmp_path) as player:
        assert re.search(r"\b1  in the index", player.run(command))
        assert "1. note.md" in player.run(f"{command} --search durable")


@pytest.mark.timeout(120)
def test_the_first_app_works_when_it_is_pasted(tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        player.play(PAGES, ["A first app of your own"])
        assert '"receipt for order-1: charged 25 EUR"' in player.run(
            ".venv/bin/python -m runtime jobs show order-1 --db shop.db"
        )
        shpo = ".venv/bin/python -m runtime admit orders order-2 --payload 1 --app shpo:app --db shop.db"
        wrong = player.run(shpo, code=2)
        assert "there is no module 'shpo'" in wrong


def test_files_that_are_named_exist() -> None:
    named = re.findall(r"(?:\]\(|`)((?:demos|runtime)/[\w./]+)", README.read_text("utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_picture_is_what_its_program_draws() -> None:
    assert PATH.read_text("utf-8") == picture()


def test_the_drawing_of_the_states_is_what_the_table_says() -> None:
    text = (ROOT / "runtime" / "ARCHITECTURE.md").read_text("utf-8")
    (mermaid,) = re.findall(r"```mermaid\n(.*?)```", text, flags=re.S)
    assert mermaid.strip() == drawing().strip()

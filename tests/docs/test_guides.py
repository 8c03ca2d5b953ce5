"""The guides: their commands in order, group by group, and the code that only stands there."""

import sys
import types
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from runtime import Verdict
from tests.docs.page import GUIDES, README, ROOT, blocks, headings, named_commands
from tests.docs.player import Player

FIRST_APP = "A first app of your own"
GROUPS = {
    "handlers": ("Writing handlers", "When a job is quarantined", "Testing your own handlers"),
    "deploying": (FIRST_APP, "Deploying a new definition while old jobs run", "Draining before maintenance"),
    "services": ("Under systemd", "The demos"),
}
LANGUAGES = {"bash", "python", "text", "dockerfile"}
PAGES = [*blocks(README), *blocks(GUIDES)]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.timeout(120)
def test_what_the_guides_say_happens(group: str, tmp_path: Path) -> None:
    with Player(tmp_path) as player:
        player.play(PAGES, GROUPS[group])


def test_every_command_of_the_guides_is_in_a_group() -> None:
    played = {section for group in GROUPS.values() for section in group}
    assert {block.section for block in blocks(GUIDES) if block.language == "bash"} <= played
    assert {block.language for block in PAGES} <= LANGUAGES
    assert played <= {FIRST_APP, *headings(GUIDES)}


@pytest.mark.parametrize("words", sorted({words for page in (README, GUIDES) for words in named_commands(page)}))
def test_a_command_that_a_sentence_names_is_there_with_its_flags(words: tuple[str, ...], tmp_path: Path) -> None:
    command = [word for word in words if not word.startswith("-")]
    with Player(tmp_path) as player:
        told = player.run(" ".join([".venv/bin/python -m runtime", *command, "--help"]))
    assert [flag for flag in words if flag.startswith("--") and flag not in told] == []


def test_links_of_the_page_lead_somewhere() -> None:
    text = GUIDES.read_text("utf-8")
    anchors = {heading.lower().replace(" ", "-") for heading in headings(GUIDES)}
    linked = {part.split(")")[0] for part in text.split("](#")[1:]}
    assert linked <= anchors
    assert linked


def test_the_long_tests_that_are_named_exist() -> None:
    rows = [line.split("`")[1] for line in GUIDES.read_text("utf-8").splitlines() if line.startswith("| `python -m")]
    modules = [row.split()[2] for row in rows]
    assert "tests.audit" in modules
    for module in modules:
        place = ROOT.joinpath(*module.split("."))
        assert place.is_dir() or place.with_suffix(".py").exists() or module == "pytest", module


class Web:
    """As much of a web program as the guide's page uses."""

    def __init__(self, *, lifespan: Callable[[Any], AbstractAsyncContextManager[None]]) -> None:
        self.lifespan = lifespan
        self.state = types.SimpleNamespace()

    def post(self, path: str) -> Callable[[Any], Any]:
        """A route."""
        return lambda function: function

    get = post


async def test_a_web_program_serves_and_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {block.file: block.text for block in PAGES if block.file}
    framework: Any = types.ModuleType("fastapi")
    framework.FastAPI = Web
    shop, program = types.ModuleType("shop"), types.ModuleType("web")
    for name, module in (("fastapi", framework), ("shop", shop)):
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile(pages["shop.py"], "shop.py", "exec"), shop.__dict__)
    text = pages["web.py"].replace('"web.db"', repr(str(tmp_path / "web.db")))
    exec(compile(text, "web.py", "exec"), program.__dict__)
    parts: Any = program
    async with parts.lifespan(parts.web):
        assert await parts.take("order-1", {"amount": 5}) == {"verdict": Verdict.ACCEPTED}
        assert await parts.take("order-1", {"amount": 5}) == {"verdict": Verdict.REPLAY}
        await parts.web.state.store.wait_done("order-1", timeout=20)
        assert await parts.look("order-1") == {"state": "done"}
        assert await parts.look("nobody") == {"state": "unknown"}

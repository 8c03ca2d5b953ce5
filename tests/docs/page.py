"""A page in Markdown as its fenced blocks, each with its section and the sentence before it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GUIDES = ROOT / "demos" / "README.md"
FENCE = re.compile(r"^```(\w*)\s*$")
WORD = re.compile(r"(?:--)?[a-z-]+")
COMMANDS = {"bench", "definitions", "demo", "drain", "quarantine", "redrive", "resume", "why"}
FILE = re.compile(r"`(\w+\.py)`")


class Block(NamedTuple):
    """What stands between two fences. `line` is its first line's number in the page."""

    section: str
    before: str
    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that the sentence before it names for a block of Python."""
        named = FILE.findall(self.before)
        return named[-1] if self.language == "python" and named else None

    @property
    def commands(self) -> list[str]:
        """The lines of a block of commands."""
        return [line for line in self.text.splitlines() if line.strip() and not line.startswith("#")]


def blocks(path: Path) -> Iterator[Block]:
    """A page's blocks in order."""
    section, before, language, first = "", "", None, 0
    inside: list[str] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if language is None and fence:
            language, first, inside = fence[1], number + 1, []
        elif language is not None and fence:
            yield Block(section, before, language, "\n".join(inside), first)
            language, before = None, ""
        elif language is not None:
            inside.append(line)
        elif line.startswith("#"):
            section, before = line.lstrip("# "), ""
        elif line.strip():
            before = f"{before} {line.strip()}"
        else:
            before = before if before.endswith(":") else ""
    assert language is None, f"{path}: the block that begins at line {first} never ends"


def named_commands(path: Path) -> set[tuple[str, ...]]:
    """The commands that a page names in its sentences and tables, as their words; placeholders are left out."""
    sentences = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.S)
    spans = (span.removeprefix("python -m runtime ") for span in re.findall(r"`([^`\n]+)`", sentences))
    words = (span.split() for span in spans if span.split()[0] in COMMANDS)
    return {tuple(word for word in span if WORD.fullmatch(word)) for span in words}


def headings(path: Path) -> list[str]:
    """A page's headings, outside its blocks."""
    return [line.lstrip("# ") for line in re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.S).splitlines()
            if line.startswith("#")]

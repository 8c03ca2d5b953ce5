"""No test lets time pass to wait for something: nothing in `tests` sleeps, outside the cases from the field.

Sleeps are found by their names; a wait with a time limit that serves as one is for readers to find. A wait without an
end, which the test ends, is none. The soak alone lets random times pass between its kills, since that
is what it is for; it waits for its own end meanwhile.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.test_tidiness import ROOT, named

NAMES = ("sleep", "sleep_until", "usleep", "nanosleep", "clock_nanosleep")
WORDS = "|".join(NAMES)
# a call, a shell's command, and what is handed over under a module's name
IN_A_TEXT = re.compile(
    rf"\b(?:{WORDS})\s*\(|\bsleep\s+(?:[\d.$%]|inf|$)|/sleep\b|\b\w+\.(?:{WORDS})\b|\bimport\s.*\b(?:{WORDS})\b"
)
TESTS = [path for path in (ROOT / "tests").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
LOOKED_AT = sorted(
    path for path in TESTS if ROOT / "tests" / "cases" not in path.parents and path != Path(__file__).resolve()
)


def sleeps(text: str) -> Iterator[str]:
    """Every sleep in a Python text, also in the texts that are embedded in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value in NAMES or IN_A_TEXT.search(node.value):
                yield f"line {node.lineno}: in a text"
        elif isinstance(node, (ast.Name, ast.Attribute)):
            if (word := node.id if isinstance(node, ast.Name) else node.attr) in NAMES:
                yield f"line {node.lineno}: {word}"
        elif isinstance(node, ast.ImportFrom):
            yield from (f"line {node.lineno}: {alias.name}" for alias in node.names if alias.name in NAMES)


def found_in(path: Path) -> list[str]:
    """The sleeps of a file in whatever language."""
    text = path.read_text("utf-8")
    return list(sleeps(text)) if path.suffix == ".py" else [match[0] for match in IN_A_TEXT.finditer(text)]


def test_nothing_in_the_tests_sleeps() -> None:
    assert LOOKED_AT
    assert {named(path): found for path in LOOKED_AT if (found := found_in(path))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep (1)",
        "import anyio\nawait anyio.sleep(0)",
        "from asyncio import sleep as nap",
        "nap = time.sleep",
        "group.start_soon(anyio.sleep, 1)",
        "anyio.sleep_until(deadline)",
        "APP = '''\nasync def nap(ctx):\n    await anyio.sleep(ctx.payload)\n'''",
        "f'{before}; time.sleep ({seconds})'",
        "run('sleep 0.5; kill $$')",
        "run(['sleep', '5'])",
        "run(['/bin/sleep', '5'])",
        "run(f'sleep {seconds}', shell=True)",
        "run('sleep infinity')",
        "APP = 'from time import sleep'",
    ],
)
def test_a_sleep_would_be_seen(text: str) -> None:
    assert list(sleeps(text))


@pytest.mark.parametrize("text", ["await anyio.sleep_forever()", "sleeper = 1", "'the case sleeps on'"])
def test_a_wait_that_the_test_ends_is_no_sleep(text: str) -> None:
    assert not list(sleeps(text))

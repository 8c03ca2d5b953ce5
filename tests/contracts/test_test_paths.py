"""Contracts: a folder of tests that nobody runs is found out; the cases have a step of their own."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APART = {"tests/cases"}


def test_every_folder_with_tests_is_run_by_the_readmes_command_but_the_cases() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = set(settings["tool"]["pytest"]["ini_options"]["testpaths"])
    found = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert found - APART == named
    assert "tests/cases" in (ROOT / ".ci" / "run").read_text("utf-8")

"""Imports go one way. The contracts stand in pyproject.toml and are checked here as a test."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINT = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command(['--no-cache']))"


def test_the_import_contracts_are_kept() -> None:
    ended = subprocess.run([sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_command_line_starts_without_the_engine() -> None:
    program = "import sys; from runtime.cli.app import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {"aiosqlite", "sqlite3", "hypothesis", "matplotlib"}
    assert heavy & set(ended.stderr.split()) == set()

"""A command line against a file of its own, and no settings from outside."""

import os
from pathlib import Path

import pytest

from tests.runtime.cli import Cli, prepared


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("RUNTIME_"):
            monkeypatch.delenv(name)


@pytest.fixture
def empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A command line whose file is not there yet."""
    return Cli(tmp_path / "app.db", capsys)


@pytest.fixture
def cli(empty: Cli) -> Cli:
    """A command line whose file has two definitions and a route."""
    empty.store(prepared)
    return empty

"""new: what it writes runs at once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.cli import Cli

SOURCE = str(Path(__file__).parents[2])


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children find the engine from another folder too when it is not installed."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([SOURCE, os.environ.get("PYTHONPATH", "")]))


@pytest.fixture
def folder(empty: Cli, tmp_path: Path) -> Path:
    """A freshly written app."""
    ran = empty.bare("new", "myapp", "--into", str(tmp_path / "my app"))
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 3
    return tmp_path / "my app"


def test_its_own_test_passes(folder: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "--rootdir",
        str(folder),
    ]
    ran = subprocess.run([*words, str(folder)], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_its_own_test_passes_inside_a_clone_that_has_pytest_alone(folder: Path) -> None:
    shutil.copy(Path(SOURCE, "pyproject.toml"), folder.parent)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:timeout", "-p", "no:xdist"]
    ran = subprocess.run([*words, "test_myapp.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_it_works_jobs_from_the_command_line(folder: Path) -> None:
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "runtime", *words, "--db", "myapp.db"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    run("work", "myapp:app", "--until-idle")
    run("admit", "myapp", "job-1", "--payload", '{"n": 20}', "--app", "myapp:app")
    run("work", "myapp:app", "--until-idle")
    assert '"20 became 40"' in run("jobs", "show", "job-1")


def test_nothing_is_written_over(folder: Path, empty: Cli) -> None:
    before = (folder / "myapp.py").read_text()
    ran = empty.bare("new", "myapp", "--into", str(folder))
    assert ran.code == 2
    assert "exists" in ran.err
    assert (folder / "myapp.py").read_text() == before


@pytest.mark.parametrize("name", ["3x", "a-b", "class", "json", "runtime", "control", "rich", "../up"])
def test_a_name_that_cannot_be_a_module_is_refused(empty: Cli, tmp_path: Path, name: str) -> None:
    assert empty.bare("new", name, "--into", str(tmp_path / "x")).code == 2
    assert not (tmp_path / "x").exists()


def test_the_unit_is_one_that_systemd_takes(folder: Path) -> None:
    unit = (folder / "myapp.service").read_text()
    assert f'ExecStart="{sys.executable}" -m runtime work myapp:app' in unit
    assert f"WorkingDirectory={folder}" in unit
    assert f"link '{folder}/myapp.service' &&" in unit.splitlines()[0]
    if tool := shutil.which("systemd-analyze"):
        ran = subprocess.run(
            [tool, "verify", str(folder / "myapp.service")], capture_output=True, text=True, check=False
        )
        assert "myapp.service" not in ran.stderr

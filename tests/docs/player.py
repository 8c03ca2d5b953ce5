"""Plays a page's blocks in a folder: files are written, commands run, what they print compared with what stands below.

A `work` that would serve for ever runs in the background until the page says Ctrl-C, or the page ends. In what a page
says is printed, `…` stands for anything, and spaces are as many as it likes. A command that ends with anything but 0 is
broken, unless the page means to show that it is not answered.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.docs.page import ROOT, Block

ENDS = ("--until-idle", "--drain")
WRAPPER = '#!/bin/sh\nexec "{python}" "$@"\n'
# the next command begins in the folder where this one ended, as in a terminal
STAYS = "\nended=$?; printf '\\0%s' \"$PWD\"; exit $ended"
PATIENCE_S = 40
# by exit code, how such an answer begins
UNANSWERED = {3: "still draining", 5: "closed "}


class Player:
    """A folder with `.venv/bin/python`, and the workers that serve in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = self._at = folder
        self.printed = ""
        self._workers: list[subprocess.Popen[str]] = []
        python = folder / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(WRAPPER.format(python=sys.executable))
        python.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RUNTIME_", "PYTEST_"))}
        path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
        self._environment = {**kept, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._workers:
            self.stop_first()

    def play(self, blocks: Iterable[Block], sections: Iterable[str]) -> None:
        """Write the files of all blocks, in order; do the rest of those in `sections`."""
        wanted = set(sections)
        for block in blocks:
            if block.file is not None:
                (self.folder / block.file).write_text(block.text + "\n", "utf-8")
            if block.section in wanted:
                self._do(block)

    def _do(self, block: Block) -> None:
        if "Ctrl-C" in block.before:
            self.printed = self.stop_first()
        if block.language == "bash":
            self.printed = "".join(self.run(command) for command in block.commands)
        elif block.language == "python":
            compile(block.text, f"line {block.line}", "exec")
        elif block.language == "text":
            compare(block, self.printed)

    def run(self, command: str, *, code: int = 0) -> str:
        """What a command prints, on stdout and stderr; the background's first line. `code` is how it must end."""
        if " pip install " in command:
            return ""
        serves = "-m runtime work " in command and not any(flag in command for flag in ENDS)
        words = ["bash", "-c", f"exec {command}" if serves else command + STAYS]
        process = subprocess.Popen(
            words, cwd=self._at, env=self._environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if serves:
            self._workers.append(process)
            assert process.stdout is not None
            return process.stdout.readline()
        said, _ = process.communicate(timeout=PATIENCE_S)
        said, _, place = said.rpartition("\0")
        self._at = Path(place)
        ended, shown = process.returncode, UNANSWERED.get(process.returncode)
        assert ended == code or (shown is not None and shown in said), f"{command}: exit {ended}\n{said}"
        assert "Traceback" not in said, f"{command}\n{said}"
        return said

    def stop_first(self) -> str:
        """Ctrl-C for the worker that serves longest; what it printed since it was ready."""
        worker = self._workers.pop(0)
        worker.send_signal(signal.SIGINT)
        said, _ = worker.communicate(timeout=PATIENCE_S)
        assert worker.returncode == 0, said
        return said


def compare(block: Block, printed: str) -> None:
    """Every line of the block must be among the printed ones, in this order."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    for expected in block.text.splitlines():
        pattern = re.compile(".*".join(re.escape(part) for part in " ".join(expected.split()).split("…")))
        while lines and not pattern.fullmatch(lines[0]):
            lines.pop(0)
        assert lines, f"line {block.line}: {expected!r} is not printed, or not in this order; printed was:\n{printed}"
        lines.pop(0)

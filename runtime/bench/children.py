"""Starting the bench's child processes, and ending those that were started."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from runtime.bench.child import Went

PATIENCE_S = 120


class Child:
    """One child process, which has said READY."""

    def __init__(self, app: str, path: Path, action: str) -> None:
        command = [sys.executable, "-m", "runtime.bench.child", app, str(path), action]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_ready(self) -> None:
        """Wait for READY."""
        assert self.process.stdout is not None
        if self.process.stdout.readline().strip() != "READY":
            raise RuntimeError("a bench process ended before it was ready; its message is above")

    def go(self) -> None:
        """Tell it to begin."""
        assert self.process.stdin is not None
        self.process.stdin.write("GO\n")
        self.process.stdin.flush()

    def went(self) -> Went:
        """Wait until it has said how it went."""
        assert self.process.stdout is not None
        return msgspec.json.decode(self.process.stdout.readline(), type=Went)

    def end(self) -> None:
        """Close its stdin and wait until it is gone."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()


@contextmanager
def started(count: int, app: str, path: Path, action: str) -> Iterator[list[Child]]:
    """`count` children, all ready; all ended afterwards."""
    with ExitStack() as stack:
        children = []
        for _ in range(count):
            child = Child(app, path, action)
            stack.callback(child.end)
            children.append(child)
        for child in children:
            child.wait_ready()
        yield children

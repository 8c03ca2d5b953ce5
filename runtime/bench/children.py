"""Starting the bench's child processes, and ending those that were started."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from runtime.bench.child import Went

PATIENCE_S = 120


class Child:
    """One child process, which says READY when it is."""

    def __init__(self, app: str, path: Path, action: str) -> None:
        command = [sys.executable, "-m", "runtime.bench.child", app, str(path), action]
        # in a process group of its own: what a terminal interrupts is the bench, which then ends its children
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0
        )

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


def wait_ready(children: Sequence[Child]) -> None:
    """Wait until each is ready."""
    for child in children:
        child.wait_ready()


def drain_together(children: Sequence[Child]) -> list[Went]:
    """Have all begin to drain once each is ready; how they went."""
    wait_ready(children)
    for child in children:
        child.go()
    return [child.went() for child in children]


@contextmanager
def started(count: int, app: str, path: Path, action: str) -> Iterator[list[Child]]:
    """`count` children, which are not ready yet; all ended afterwards, at once if something went wrong."""
    children: list[Child] = []
    try:
        for _ in range(count):
            children.append(Child(app, path, action))
        yield children
    except BaseException:
        # what they still do is for nobody
        for child in children:
            child.process.kill()
        raise
    finally:
        for child in children:
            child.end()

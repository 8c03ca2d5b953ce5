"""How a demo tells what happens: paragraphs, lines of what was seen, in a temporary folder that is removed."""

import signal
import textwrap
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

WIDTH = 96


class Teller:
    """Says what happens. `write` takes one line (default: print)."""

    def __init__(self, write: Callable[[str], None] = print) -> None:
        self._write = write

    def title(self, text: str) -> None:
        """What the demo is about."""
        self._write("")
        self._write(text)
        self._write("=" * len(text))

    def say(self, text: str) -> None:
        """A paragraph."""
        self._write("")
        for line in textwrap.wrap(" ".join(text.split()), WIDTH):
            self._write(line)

    def command(self, line: str) -> None:
        """A line to copy, never wrapped."""
        self._write(f"    {line}".rstrip())

    def saw(self, what: str, result: object) -> None:
        """Something that was done, and what was seen of it."""
        shown = ", ".join(map(str, result)) if isinstance(result, (list, tuple)) else str(result)
        head = f"  {what:<52} → "
        first, *rest = textwrap.wrap(shown, max(20, WIDTH - len(head)), break_long_words=False) or [""]
        self._write(head + first)
        for line in rest:
            self._write(" " * len(head) + line)


Tale = Callable[[Teller, Path], Awaitable[None]]


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, which is removed also when TERM ends the demo: that counts as an interrupt here."""
    listens = threading.current_thread() is threading.main_thread()
    if not listens or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        with TemporaryDirectory(prefix="keepstep-demo-") as folder:
            yield Path(folder)
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        with TemporaryDirectory(prefix="keepstep-demo-") as folder:
            yield Path(folder)
    finally:
        signal.signal(signal.SIGTERM, before)


async def told(tale: Tale, teller: Teller) -> None:
    """Tell a tale in a temporary folder, which is removed at its end."""
    with scratch() as folder:
        await tale(teller, folder)


def run_alone(tale: Tale) -> None:
    """What `python -m demos.<name>` does."""
    anyio.run(told, tale, Teller())

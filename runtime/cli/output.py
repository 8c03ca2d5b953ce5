"""What commands print: data on stdout as text, JSON or JSON lines; messages on stderr; colours only on a terminal."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

WIDEST = 4096  # of a line that goes to a file or a pipe: nothing is cut there
COLOURS = {
    "done": "green",
    "open": "green",
    "ready": "cyan",
    "inflight": "blue",
    "waiting": "yellow",
    "draining": "yellow",
    "paused": "magenta",
    "quarantined": "red",
}


def plain(value: Any) -> Any:
    """Records, verdicts and mappings as what JSON knows."""
    return msgspec.to_builtins(value, str_keys=True)


def document(value: Any, output: str, render: Callable[[], "RenderableType"]) -> None:
    """One value: a JSON document, one line of JSON, or its text."""
    if output == "text":
        show(render())
    else:
        print(_json(value, 2 if output == "json" else None))


def rows(items: Sequence[Any], output: str, render: Callable[[], "RenderableType"]) -> None:
    """Several values: one JSON array, a line of JSON each, or their text."""
    if output == "text":
        show(render())
    elif output == "json":
        print(_json(items, 2))
    else:
        for item in items:
            print(_json(item, None))


def show(*parts: "RenderableType") -> None:
    """Print renderables or plain strings to stdout; a string is taken literally."""
    out = console()
    for part in parts:
        out.print(printable(part) if isinstance(part, str) else part, soft_wrap=isinstance(part, str))


def console(*, errors: bool = False) -> "Console":
    """A rich console on stdout or stderr that takes every string literally and cuts nothing outside a terminal."""
    from rich.console import Console

    stream = sys.stderr if errors else sys.stdout
    width = None if stream.isatty() else WIDEST
    return Console(file=stream, width=width, force_terminal=stream.isatty(), markup=False, highlight=False, emoji=False)


def say(line: str) -> None:
    """A message for a person, on stderr."""
    print(printable(line), file=sys.stderr, flush=True)


def table(*headings: str, right: Iterable[str] = ()) -> "Table":
    """A table without lines that aligns; `right` names the columns of numbers."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    numbers = set(right)
    for heading in headings:
        made.add_column(heading, justify="right" if heading in numbers else "left", overflow="fold")
    return made


def add(made: "Table", *cells: object) -> None:
    """One row; states and modes get their colour, None is a dash."""
    from rich.text import Text

    made.add_row(*(Text(printable(word := _word(cell)), style=COLOURS.get(word, "")) for cell in cells))


def printable(text: str) -> str:
    """Text in which control characters are shown and not obeyed by a terminal; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() or mark in "\n\t\u200d" else repr(mark)[1:-1] for mark in text)


def one_line(text: str | None, most: int = 200) -> str | None:
    """Text for a table or a list: its first line, cut; the whole of it is in `jobs show` and in JSON."""
    if not text:
        return None
    first, _, rest = text.partition("\n")
    return first if len(first) <= most and not rest else f"{first[:most]}…"


def short(digest: str) -> str:
    """Enough of a digest to tell definitions apart on a screen; every command takes such a beginning."""
    return digest[:12]


def _word(cell: object) -> str:
    return "-" if cell is None else str(cell)


def _json(value: Any, indent: int | None) -> str:
    ascii_only = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    separators = None if indent else (",", ":")
    return json.dumps(plain(value), ensure_ascii=ascii_only, indent=indent, separators=separators)

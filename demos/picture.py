"""The picture in the README: `python -m demos.picture` writes demos/picture.svg; a test compares."""

from html import escape
from pathlib import Path

PATH = Path(__file__).with_name("picture.svg")
INK, SOFT, LINE = "#1f2933", "#52606d", "#9aa5b1"
D1, D2, HELD = "#2b6cb0", "#b7791f", "#c53030"
WIDTH, HEIGHT = 960, 400


def text(
    x: float, y: float, words: str, *, size: int = 13, color: str = INK, anchor: str = "start", bold: bool = False
) -> str:
    """One line of text; y is its baseline."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}" text-anchor="{anchor}"{weight}>'
        f"{escape(words)}</text>"
    )


def box(x: float, y: float, width: float, height: float, *, fill: str = "#ffffff", stroke: str = LINE) -> str:
    """A rounded box."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{stroke}"/>'
    )


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight arrow."""
    ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    return f'<line {ends} stroke="{SOFT}" stroke-width="1.5" marker-end="url(#a)"/>'


def job(x: float, y: float, label: str, color: str) -> str:
    """A job: a square in the colour of the definition that it is pinned to."""
    words = text(x + 17, y + 18, label, size=12, color="#ffffff", anchor="middle")
    return box(x, y, 34, 26, fill=color, stroke=color) + words


def flow(y: float, name: str, note: str, jobs: list[tuple[str, str]], served: int) -> list[str]:
    """A lane: its jobs in order, the head on the right, and the ticket that it was served at last."""
    parts = [box(250, y, 330, 46, fill="#f5f7fa"), text(260, y + 19, name, bold=True)]
    parts.append(text(260, y + 36, note, size=11, color=SOFT))
    parts += [job(458 - 40 * place, y + 10, label, color) for place, (label, color) in enumerate(jobs)]
    parts.append(text(572, y + 28, f"served {served}", size=11, color=SOFT, anchor="end"))
    return [*parts, arrow(580, y + 23, 622, 200)]


def picture() -> str:
    """The whole drawing, as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif">',
        f'<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="{SOFT}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *_door(),
        text(250, 44, "flows: each keeps its own order", bold=True),
        *flow(60, "alice", "ordered", [("a1", D1), ("a2", D1), ("a3", D2)], 7),
        *flow(124, "bob", "ordered; the head waits", [("b1", HELD), ("b2", D1)], 4),
        *flow(188, "files", "free, width 2", [("f1", D1), ("f2", D1), ("f3", D2)], 5),
        *flow(252, "carol", "new: joins behind", [("c1", D2)], 8),
        *_claims(),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _door() -> list[str]:
    return [
        text(24, 44, "admission", bold=True),
        box(24, 60, 180, 110),
        text(36, 84, "accepted: a promise"),
        text(36, 104, "replay · conflict"),
        text(36, 124, "closed · full"),
        text(36, 154, "pinned to a definition", size=11, color=SOFT),
        text(24, 208, "barrier", bold=True),
        box(24, 222, 180, 76),
        text(36, 246, "open → draining → paused", size=12),
        text(36, 266, "paused: nothing unfinished,", size=11, color=SOFT),
        text(36, 282, "in the same transaction", size=11, color=SOFT),
        arrow(204, 115, 246, 115),
        arrow(114, 222, 114, 174),
    ]


def _claims() -> list[str]:
    return [
        text(628, 44, "fair claims", bold=True),
        box(628, 150, 112, 100),
        text(684, 176, "least served", anchor="middle"),
        text(684, 194, "goes first:", anchor="middle"),
        text(684, 214, "f1, a1, c1, f2", anchor="middle", bold=True),
        text(684, 236, "a ticket each", size=11, color=SOFT, anchor="middle"),
        arrow(740, 180, 782, 116),
        arrow(740, 220, 782, 244),
        text(786, 44, "workers", bold=True),
        box(786, 70, 150, 84),
        text(798, 94, "declares", size=12),
        job(854, 78, "D1", D1),
        job(893, 78, "D2", D2),
        text(798, 122, "handler runs", size=12),
        text(798, 141, "skips what it is not", size=11, color=SOFT),
        box(786, 200, 150, 98),
        text(798, 224, "one transaction:", size=12, bold=True),
        text(798, 244, "effect + progress", size=12),
        text(798, 262, "+ the handler's rows", size=12),
        text(798, 284, "late answers: stale", size=11, color=SOFT),
        arrow(861, 154, 861, 196),
    ]


def _legend() -> list[str]:
    return [
        job(250, 332, "D1", D1),
        text(292, 350, "bound to definition D1", size=12),
        job(440, 332, "D2", D2),
        text(482, 350, "bound to D2, the new route", size=12),
        job(660, 332, "…", HELD),
        text(702, 350, "waits: blocks its own flow only", size=12),
        text(24, 388, "everything here is rows of one SQLite file", size=12, color=SOFT),
    ]


if __name__ == "__main__":
    PATH.write_text(picture(), encoding="utf-8")

"""What a text says about itself: title, headings or definitions, words, links. Pure functions over a decoded text."""

import re
from collections import Counter
from typing import Any

MOST_HEADINGS = 200
MOST_LINKS = 100
LONGEST_LINE = 200

WORD = re.compile(r"[^\W_]+")
LINK = re.compile(r"https?://[^\s<>\"'`)\]}\\]+")
DEFINITION = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+([^\W\d]\w*)", re.MULTILINE)
DOCSTRING = re.compile(r"""\A(?:[ \t]*(?:#[^\n]*)?\n)*[rRuUbB]{0,2}(?:\"\"\"|'''|"|')\s*([^\n"']+)""")
C_DEFINITION = re.compile(r"^(?:\#[ \t]*define[ \t]+|struct[ \t]+|enum[ \t]+)([A-Za-z_]\w*)", re.MULTILINE)
HTML_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
HTML_HEADING = re.compile(r"<h[1-6][^>]*>(.*?)</h[1-6]>", re.IGNORECASE | re.DOTALL)
HTML_TAG = re.compile(r"<[^>]*>")
HASH_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
RULED_HEADING = re.compile(r"^(\S[^\n]*)\n(=|-|~|\^)\2{2,}[ \t]*$", re.MULTILINE)

PYTHON = frozenset({".py", ".pyi", ".pyw"})
C = frozenset({".c", ".h", ".cc", ".cpp", ".hpp"})
HTML = frozenset({".html", ".htm", ".xhtml"})


def extract(text: str, suffix: str) -> dict[str, Any]:
    """`{title, headings, words, links}` of a text; `suffix` (lower case, with its dot) says how to look at it.

    At most 200 headings (for source code: definitions) and 100 different links, in the order they stand; `words` counts
    runs of letters and digits; `title` is at most 200 characters, empty if there is none.
    """
    if suffix in PYTHON:
        title, headings = _first(DOCSTRING, text), DEFINITION.findall(text)
    elif suffix in C:
        title, headings = _first_line(text), C_DEFINITION.findall(text)
    elif suffix in HTML:
        title = _plain(_first(HTML_TITLE, text))
        headings = [_plain(heading) for heading in HTML_HEADING.findall(text)]
    else:
        headings = [match.group(1).strip() for match in _in_order(text)]
        title = headings[0] if headings else _first_line(text)
    return {
        "title": _short(title),
        "headings": [_short(heading) for heading in headings[:MOST_HEADINGS]],
        "words": count_words(text),
        "links": find_links(text),
    }


def count_words(text: str) -> int:
    """How many runs of letters and digits there are."""
    return len(WORD.findall(text))


def find_links(text: str) -> list[str]:
    """Different http and https addresses in the order they stand, without closing punctuation."""
    if "://" not in text:
        return []
    links = dict.fromkeys(link.rstrip(".,;:!?*") for link in LINK.findall(text))
    return list(links)[:MOST_LINKS]


def statistics(text: str, most: int) -> dict[str, Any]:
    """`{distinct, mean_length, common: [[word, times], …]}`; `most` common words of four letters or more."""
    words = [word.lower() for word in WORD.findall(text)]
    counts = Counter(words)
    common = sorted(
        ((word, times) for word, times in counts.items() if len(word) >= 4), key=lambda pair: (-pair[1], pair[0])
    )
    return {
        "distinct": len(counts),
        "mean_length": round(sum(map(len, words)) / len(words), 2) if words else 0,
        "common": [[word[:LONGEST_LINE], times] for word, times in common[:most]],
    }


def _in_order(text: str) -> list[re.Match[str]]:
    found = [*HASH_HEADING.finditer(text), *RULED_HEADING.finditer(text)]
    return sorted(found, key=lambda match: match.start())


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else ""


def _first_line(text: str) -> str:
    for line in text[:4096].splitlines():
        if WORD.search(line):
            return line.strip(" \t/*#-=")
    return ""


def _plain(markup: str) -> str:
    return " ".join(HTML_TAG.sub(" ", markup).split())


def _short(line: str) -> str:
    return line.strip()[:LONGEST_LINE]

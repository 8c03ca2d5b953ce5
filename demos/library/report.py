"""What the library holds: the summary of its files, and the search. Reads of the app's own tables, then words."""

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from demos.library.find import path_of, printable

Query = Callable[[str, Sequence[Any]], Awaitable[list[tuple[Any, ...]]]]

TOTALS = """
select count(*) filter (where cause is null), coalesce(sum(bytes), 0), coalesce(sum(words), 0),
  coalesce(sum(headings), 0), coalesce(sum(links), 0), count(*) from library_document
"""
CAUSES = """
select cause, count(*), min(path) from library_document where cause is not null group by cause order by 2 desc, 1
"""
ROWS = "select count(*) from library_text"
INDEXED = "select count(*), coalesce(sum(times), 0), count(*) filter (where times > 1) from library_indexing"
DISTINCT = "select count(*), coalesce(avg(distinct_words), 0) from library_statistics"
HITS = """
select d.path, d.title, snippet(library_text, 1, char(2), char(3), ' … ', 16), -rank
from library_text join library_document d on d.id = library_text.rowid
where library_text match ? order by rank limit ?
"""
HITS_COUNT = "select count(*) from library_text where library_text match ?"


async def summary(
    query: Query, console: Console, folder: str, finished: dict[str, int], seconds: float
) -> bool:
    """Print what the library holds now; `finished` counts this run's jobs by definition.

    Returns False if the counts show that something was indexed twice.
    """
    ((usable, size, words, headings, links, files),) = await query(TOTALS, ())
    ((rows,),) = await query(ROWS, ())
    ((jobs, writes, twice),) = await query(INDEXED, ())
    lines = [(files, "files"), (usable, f"in the index ({size / 1e6:,.1f} MB)")]
    for cause, count, example in await query(CAUSES, ()):
        lines.append((count, f"skipped: {cause} (for example {_below(folder, example)})"))
    lines += [(words, "words"), (headings, "headings and definitions"), (links, "links")]
    ((counted, distinct),) = await query(DISTINCT, ())
    if counted:
        lines.append((round(distinct), f"different words in a file, on average of {counted:,} (v2's statistics)"))
    lines += [(count, f"jobs finished in this run under {name}") for name, count in finished.items()]
    console.print("[bold]The library[/bold]")
    for count, text in lines:
        console.print(f"[bold]{count:>12,}[/bold]  {escape(text)}")
    sound = rows == usable and twice == 0 and writes == jobs
    word = "nothing was indexed twice" if sound else "SOMETHING WAS INDEXED TWICE"
    console.print(f"{word}: {jobs:,} jobs wrote to the index {writes:,} times;", end=" ")
    console.print(f"it has {rows:,} rows for {usable:,} different paths.")
    console.print(f"{seconds:.1f} s")
    return bool(sound)


async def search(query: Query, console: Console, words: str, *, folder: str, limit: int = 10) -> int:
    """Print ranked hits with snippets; returns how many files match in all."""
    asked = expression(words)
    if not asked:
        console.print("no word to look for: give letters or digits, for example --search 'event loop'")
        return 0
    ((total,),) = await query(HITS_COUNT, (asked,))
    for place, (path, title, snippet, rank) in enumerate(await query(HITS, (asked, limit)), start=1):
        shown = _below(folder, path)
        console.print(f"[bold]{place:2}. {escape(shown)}[/bold]  [dim]{rank:.2f}[/dim]  {escape(title or '')}")
        marked = escape(" ".join(snippet.split())).replace("\x02", "[bold yellow]").replace("\x03", "[/bold yellow]")
        console.print(f"    {marked}")
    console.print(f"{total:,} files match {words!r}" + (f"; the best {limit} are shown" if total > limit else ""))
    return int(total)


def _below(folder: str, path: str) -> str:
    return printable(os.fsdecode(path_of(path)).removeprefix(folder.rstrip("/") + "/"))


def expression(words: str) -> str:
    """A full-text query in which every word must stand; nothing is syntax but a `*` at a word's end (a prefix)."""
    quoted = []
    for word in words.split():
        bare = word.rstrip("*").replace('"', '""').replace("\0", "")
        if any(character.isalnum() for character in bare):
            quoted.append(f'"{bare}"' + ("*" if word.endswith("*") else ""))
    return " ".join(quoted)


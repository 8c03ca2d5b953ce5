"""What the library holds: the summary of its files, and the search. Reads of the app's own tables, then words."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

Query = Callable[[str, Sequence[Any]], Awaitable[list[tuple[Any, ...]]]]

TOTALS = """
select count(*) filter (where cause is null), coalesce(sum(bytes), 0), coalesce(sum(words), 0),
  coalesce(sum(headings), 0), coalesce(sum(links), 0), count(*) from library_document
"""
CAUSES = "select cause, count(*), min(path) from library_document where cause is not null group by cause order by 2 desc, 1"
ROWS = "select count(*) from library_text"
INDEXED = "select count(*), coalesce(sum(times), 0), count(*) filter (where times > 1) from library_indexing"
DISTINCT = "select count(*), coalesce(avg(distinct_words), 0) from library_statistics"
HITS = """
select d.path, d.title, snippet(library_text, 1, char(2), char(3), ' … ', 16), -rank
from library_text join library_document d on d.id = library_text.rowid
where library_text match ? order by rank limit ?
"""
HITS_COUNT = "select count(*) from library_text where library_text match ?"


async def summary(query: Query, console: Console, finished: dict[str, int], seconds: float) -> bool:
    """Print what the library holds now; `finished` counts jobs by definition. False if the counts show that something was indexed twice."""
    ((usable, size, words, headings, links, files),) = await query(TOTALS, ())
    ((rows,),) = await query(ROWS, ())
    ((jobs, writes, twice),) = await query(INDEXED, ())
    table = Table(title="The library", title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{files:,}", "files")
    table.add_row(f"{usable:,}", f"in the index ({size / 1e6:,.1f} MB)")
    for cause, count, example in await query(CAUSES, ()):
        table.add_row(f"{count:,}", f"skipped: {escape(cause)} (for example {escape(example)})")
    table.add_row(f"{words:,}", "words")
    table.add_row(f"{headings:,}", "headings and definitions")
    table.add_row(f"{links:,}", "links")
    ((counted, distinct),) = await query(DISTINCT, ())
    if counted:
        table.add_row(f"{distinct:,.0f}", f"different words in a file, on average of {counted:,} (v2's statistics)")
    for name, count in finished.items():
        table.add_row(f"{count:,}", f"jobs finished in this run under {name}")
    console.print(table)
    sound = rows == usable and twice == 0 and writes == jobs
    word = "nothing was indexed twice" if sound else "SOMETHING WAS INDEXED TWICE"
    console.print(
        f"{word}: {jobs:,} jobs wrote to the index {writes:,} times; {rows:,} rows in it for {usable:,} different paths."
    )
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
        shown = path.removeprefix(folder.rstrip("/") + "/")
        console.print(f"[bold]{place:2}. {escape(shown)}[/bold]  [dim]{rank:.2f}[/dim]  {escape(title or '')}")
        marked = escape(" ".join(snippet.split())).replace("\x02", "[bold yellow]").replace("\x03", "[/bold yellow]")
        console.print(f"    {marked}")
    console.print(f"{total:,} files match {words!r}" + (f"; the best {limit} are shown" if total > limit else ""))
    return int(total)


def expression(words: str) -> str:
    """A full-text query in which every word must stand and nothing is syntax, but for a `*` at a word's end (a prefix)."""
    quoted = []
    for word in words.split():
        bare = word.rstrip("*").replace('"', '""').replace("\0", "")
        if any(character.isalnum() for character in bare):
            quoted.append(f'"{bare}"' + ("*" if word.endswith("*") else ""))
    return " ".join(quoted)


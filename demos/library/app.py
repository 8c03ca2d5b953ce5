"""The library's app: its handlers, its two definitions and its own tables.

No text is ever an effect: each step reads the file again (it is in the system's cache) and compares its digest with
what the first step saw, so that a job never mixes two states of one file.
"""

import os
from typing import Any, Literal

from demos.library.find import path_of
from demos.library.read import Cause, Document, Skipped, read
from demos.library.text import extract, statistics
from workers import App, step

HUGE_BYTES = 4 * 1024 * 1024
# a file's own faults are values, so only a process that was killed uses attempts: many kills must not use them up
BUDGET = 1_000
LEASE = "2s"

SCHEMA = """
create table library_document (
  id integer primary key,
  path text not null unique,
  definition text not null,
  cause text,
  detail text,
  bytes integer,
  encoding text,
  sha256 text,
  title text,
  words integer,
  headings integer,
  links integer
) strict;
create table library_indexing (
  job text primary key,
  path text not null,
  times integer not null
) strict, without rowid;
create table library_statistics (
  path text primary key,
  distinct_words integer not null,
  mean_length real not null,
  common text not null
) strict, without rowid;
create virtual table library_text using fts5 (title, body);
"""

app = App("library", abi="library/1")
app.schema("library", SCHEMA)


@app.step
def read_file(ctx: Any, *, huge_bytes: int) -> dict[str, Any]:
    """`{bytes, sha256, encoding}` of a usable file, `{skipped, detail}` of any other."""
    found = read(path_of(ctx.payload["path"]), huge_bytes)
    if isinstance(found, Skipped):
        return _skipped(found)
    return {"bytes": found.size_bytes, "sha256": found.sha256, "encoding": found.encoding}


@app.step
def extract_contents(ctx: Any, *, huge_bytes: int) -> dict[str, Any]:
    """`{title, headings, words, links}`, or why the file was skipped."""
    found = _again(ctx, huge_bytes)
    if isinstance(found, Skipped):
        return _skipped(found)
    suffix = os.path.splitext(ctx.payload["path"])[1].lower()
    return extract(found.text, suffix)


@app.step
def index_text(ctx: Any, *, huge_bytes: int) -> dict[str, Any]:
    """Put the file into the index, one row per path, in the transaction that commits this step: `{indexed}`."""
    path = ctx.payload["path"]
    found = _again(ctx, huge_bytes, "extract")
    contents = ctx.effect("extract")
    ctx.execute(COUNT, (ctx.job, path))
    if isinstance(found, Skipped):
        row = (path, ctx.digest, found.cause.value, found.detail, *[None] * 7)
        if found.cause == Cause.CHANGED:
            ctx.execute(ADDED, row)
            return _skipped(found)
        ctx.execute(DOCUMENT, row)
        ctx.execute("delete from library_text where rowid = (select id from library_document where path = ?)", (path,))
        return _skipped(found)
    counts = (contents["words"], len(contents["headings"]), len(contents["links"]))
    known = (found.size_bytes, found.encoding, found.sha256, contents["title"])
    ctx.execute(DOCUMENT, (path, ctx.digest, None, None, *known, *counts))
    ctx.execute(TEXT, (contents["title"], found.text, path))
    return {"indexed": True}


@app.step
def word_statistics(ctx: Any, *, huge_bytes: int, most: int) -> dict[str, Any]:
    """`{distinct, mean_length, common}` of the file's words, or why it was skipped."""
    found = _again(ctx, huge_bytes, "index")
    if isinstance(found, Skipped):
        if found.cause != Cause.CHANGED:
            ctx.execute("delete from library_statistics where path = ?", (ctx.payload["path"],))
        return _skipped(found)
    counted = statistics(found.text, most)
    common = " ".join(word for word, _ in counted["common"])
    ctx.execute(STATISTICS, (ctx.payload["path"], counted["distinct"], counted["mean_length"], common))
    return counted


# A file that changed under its job belongs to a newer job, which may have been here before: its row is left alone.
CHANGED = Skipped(Cause.CHANGED, "it was written to while it was worked on: the next run takes it up")
COLUMNS = """
insert into library_document
  (path, definition, cause, detail, bytes, encoding, sha256, title, words, headings, links)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
ADDED = COLUMNS + "on conflict (path) do nothing"
DOCUMENT = (
    COLUMNS
    + """
on conflict (path) do update set
  definition = excluded.definition, cause = excluded.cause, detail = excluded.detail, bytes = excluded.bytes,
  encoding = excluded.encoding, sha256 = excluded.sha256, title = excluded.title, words = excluded.words,
  headings = excluded.headings, links = excluded.links
"""
)
TEXT = """
insert or replace into library_text (rowid, title, body)
select id, ?, ? from library_document where path = ?
"""
COUNT = """
insert into library_indexing (job, path, times) values (?, ?, 1) on conflict (job) do update set times = times + 1
"""
STATISTICS = """
insert into library_statistics (path, distinct_words, mean_length, common) values (?, ?, ?, ?)
on conflict (path) do update set
  distinct_words = excluded.distinct_words, mean_length = excluded.mean_length, common = excluded.common
"""

LIMIT = {"huge_bytes": HUGE_BYTES}
V1_STEPS = [
    step("read", read_file, LIMIT, lease=LEASE, budget=BUDGET),
    step("extract", extract_contents, LIMIT, lease=LEASE, budget=BUDGET),
    step("index", index_text, LIMIT, lease=LEASE, budget=BUDGET),
]
V2_STEPS = [*V1_STEPS, step("statistics", word_statistics, {**LIMIT, "most": 20}, lease=LEASE, budget=BUDGET)]
V1 = app.manifest(V1_STEPS, current=True)
V2 = app.manifest(V2_STEPS)
Definition = Literal["v1", "v2"]
DEFINITIONS = {"v1": V1, "v2": V2}


def _again(ctx: Any, huge_bytes: int, before: str = "read") -> Document | Skipped:
    """The document that the first step saw, or why it was skipped there, in the step before, or now."""
    found = read(path_of(ctx.payload["path"]), huge_bytes)
    for name in dict.fromkeys(("read", before)):
        earlier = ctx.effect(name)
        if "skipped" in earlier:
            skipped = Skipped(Cause(earlier["skipped"]), earlier["detail"])
            still = isinstance(found, Skipped) and found.cause == skipped.cause
            return skipped if still or skipped.cause == Cause.CHANGED else CHANGED
    if isinstance(found, Document) and found.sha256 != ctx.effect("read")["sha256"]:
        return CHANGED
    return found


def _skipped(found: Skipped) -> dict[str, Any]:
    return {"skipped": found.cause.value, "detail": found.detail}

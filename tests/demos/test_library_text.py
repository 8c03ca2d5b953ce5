"""The library's pure parts: which files, read how, saying what."""

import codecs
import os
from pathlib import Path

import pytest

from demos.library.find import admission, flow_of, path_of, portable, walk
from demos.library.read import Cause, Document, Skipped, decode, read
from demos.library.report import expression
from demos.library.text import extract, statistics
from runtime.protocol.canonical import canonical, check_name


def test_a_walk_takes_regular_files_only_and_leaves_out_links_and_caches(tmp_path: Path) -> None:
    for name in ("a.py", "pkg/b.py", "pkg/__pycache__/b.pyc", "site-packages/c.py", "pkg/deep/site-packages/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    (tmp_path / "pkg/up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert [found.relative for found in walk(str(tmp_path))] == ["a.py", "pkg/b.py"]


def test_a_flow_is_the_top_folder_and_a_dot_for_the_root() -> None:
    assert [flow_of(name) for name in ("a.py", "pkg/b.py", "pkg/deep/c.py")] == [".", "pkg", "pkg"]


def test_an_identity_holds_definition_path_time_and_size_and_its_flow_is_free_of_width_8(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("xyz")
    os.utime(tmp_path / "a.py", ns=(5, 7))
    (found,) = walk(str(tmp_path))
    job = admission("library", "v1", str(tmp_path), found)
    assert (job.id, job.flow, job.width) == ("v1 a.py 7 3", ".", 8)
    assert job.payload == {"path": str(tmp_path / "a.py")}
    assert admission("library", "v1", str(tmp_path), found, of_folder=True).id.startswith("v1 a.py 7 3 ")


def test_long_paths_and_names_that_are_no_utf_8_make_legal_identities(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 200) / ("e" * 200)
    deep.mkdir(parents=True)
    (deep / "f.py").write_text("x")
    with open(os.fsencode(tmp_path) + b"/\xff%.txt", "w") as file:
        file.write("odd")
    jobs = [admission("library", "v1", str(tmp_path), found) for found in walk(str(tmp_path))]
    assert len({check_name(job.id, "id") for job in jobs}) == 2
    for job in jobs:
        canonical(job.payload)
        assert isinstance(read(path_of(job.payload["path"]), 100), Document)


@pytest.mark.parametrize("path", ["/plain/ä.txt", "/odd/\udcff 100%/x"])
def test_a_portable_path_comes_back_whole(path: str) -> None:
    portable(path).encode()
    assert path_of(portable(path)) == os.fsencode(path)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain", ("plain", "utf-8")),
        (codecs.BOM_UTF8 + "ä".encode(), ("ä", "utf-8-sig")),
        ("ä".encode("utf-16"), ("ä", "utf-16")),
        (b"# -*- coding: latin-1 -*-\n\xe4", ("# -*- coding: latin-1 -*-\nä", "iso8859-1")),
        (b"\xe4", None),
        (b"a\0b", None),
        (b"# coding: rot13\nx", ("# coding: rot13\nx", "utf-8")),
        (b"# coding: nonsense\nx", ("# coding: nonsense\nx", "utf-8")),
    ],
)
def test_decoding(data: bytes, expected: tuple[str, str] | None) -> None:
    assert decode(data) == expected


def test_every_cause_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "blank").write_bytes(b" \n")
    (tmp_path / "huge").write_bytes(b"x" * 101)
    (tmp_path / "binary").write_bytes(b"\x80\x81")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "huge")
    os.mkfifo(tmp_path / "pipe")

    def cause(name: str) -> Cause:
        found = read(str(tmp_path / name), 100)
        assert isinstance(found, Skipped)
        return found.cause

    names = ("empty", "blank", "huge", "binary", "gone", "huge/below", "folder", "link", "pipe")
    assert [cause(name) for name in names] == [
        Cause.EMPTY,
        Cause.EMPTY,
        Cause.HUGE,
        Cause.UNDECODABLE,
        Cause.VANISHED,
        Cause.VANISHED,
        Cause.UNREADABLE,
        Cause.UNREADABLE,
        Cause.UNREADABLE,
    ]


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "fits").write_bytes(b"x" * 100)
    assert isinstance(read(str(tmp_path / "fits"), 100), Document)


def test_source_code_gives_its_docstring_and_definitions() -> None:
    text = '#!/usr/bin/python\n"""Adds things.\n\nMore."""\nclass Sum:\n    async def add(self): ...\ndef main(): ...\n'
    found = extract(text, ".py")
    assert (found["title"], found["headings"]) == ("Adds things.", ["Sum", "add", "main"])


def test_prose_gives_headings_words_and_links_in_order() -> None:
    text = "Guide\n=====\n\nSee https://example.org/a, https://example.org/b.\n\n## Second\nhttps://example.org/a\n"
    found = extract(text, ".md")
    assert (found["title"], found["headings"]) == ("Guide", ["Guide", "Second"])
    assert found["links"] == ["https://example.org/a", "https://example.org/b"]
    assert extract("one two-three", ".txt")["words"] == 3


def test_markup_gives_plain_titles() -> None:
    found = extract("<html><title>A\n b</title><h1>Top <i>one</i></h1></html>", ".html")
    assert (found["title"], found["headings"]) == ("A b", ["Top one"])


def test_word_statistics_break_ties_by_the_alphabet() -> None:
    assert statistics("beta alpha alpha beta to to to", 2) == {
        "distinct": 3,
        "mean_length": 3.43,
        "common": [["alpha", 2], ["beta", 2]],
    }
    assert statistics("", 2) == {"distinct": 0, "mean_length": 0, "common": []}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("event loop", '"event" "loop"'),
        ('say "hi" AND', '"say" """hi""" "AND"'),
        ("load*", '"load"*'),
        ("-- ( *", ""),
    ],
)
def test_a_search_expression_has_no_syntax_of_its_own(words: str, expected: str) -> None:
    assert expression(words) == expected

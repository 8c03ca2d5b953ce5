"""Reading one file, and every way in which it may not be usable. No file stops the work: a cause is a value."""

import codecs
import hashlib
import os
import re
import stat
from enum import StrEnum
from typing import NamedTuple

CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Cause(StrEnum):
    """Why a file is not in the index."""

    UNDECODABLE = "undecodable"
    EMPTY = "empty"
    HUGE = "huge"
    VANISHED = "vanished"
    UNREADABLE = "unreadable"
    CHANGED = "changed meanwhile"


class Skipped(NamedTuple):
    """A file that cannot be used: the cause, and what exactly was met."""

    cause: Cause
    detail: str


class Document(NamedTuple):
    """A file that can be used. `encoding` is a codec's name, `sha256` is of the bytes."""

    text: str
    encoding: str
    size_bytes: int
    sha256: str


def read(path: str | bytes, huge_bytes: int) -> Document | Skipped:
    """The document at `path`, or why there is none. Files of more than `huge_bytes` are not read."""
    try:
        data = _bytes(path, huge_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return Skipped(Cause.VANISHED, "it was there when the folder was listed and is gone now")
    except OSError as error:
        return Skipped(Cause.UNREADABLE, error.strerror or type(error).__name__)
    if isinstance(data, Skipped):
        return data
    decoded = decode(data)
    if decoded is None:
        return Skipped(Cause.UNDECODABLE, "no text in UTF-8, with a byte order mark, or with a declared coding")
    text, encoding = decoded
    if not text.strip():
        return Skipped(Cause.EMPTY, "no bytes" if not data else "nothing but white space")
    return Document(text, encoding, len(data), hashlib.sha256(data).hexdigest())


def decode(data: bytes) -> tuple[str, str] | None:
    """Text and encoding: a byte order mark decides, then a coding declared in the first two lines (PEP 263), then
    UTF-8. A NUL in what is then left is no text."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decoded(data, encoding)
    if b"\0" in data:
        return None
    return _decoded(data, _declared(data) or "utf-8")


def _declared(data: bytes) -> str | None:
    for line in data[:1024].split(b"\n", 2)[:2]:
        match = CODING.match(line)
        if match:
            try:
                codec = codecs.lookup(match.group(1).decode("ascii"))
            except (LookupError, ValueError):
                return None
            return codec.name if codec._is_text_encoding else None
    return None


def _decoded(data: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        text = data.decode(encoding)
        text.encode("utf-8")
    except ValueError:
        return None
    return text, encoding


def _bytes(path: str | bytes, huge_bytes: int) -> bytes | Skipped:
    # O_NONBLOCK: a pipe that took the file's place must not hold the worker up; O_NOFOLLOW: nor a link lead away.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return Skipped(Cause.UNREADABLE, "not a regular file any more")
        if found.st_size <= huge_bytes:
            data = file.read(huge_bytes + 1)
            if len(data) <= huge_bytes:
                return data
        return Skipped(Cause.HUGE, f"more than {huge_bytes} bytes")

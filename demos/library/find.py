"""The files of a folder as jobs: which ones, under which identity, in which flow."""

import hashlib
import os
from collections.abc import Iterator
from typing import NamedTuple

from runtime.protocol.canonical import MAX_NAME
from runtime.protocol.records import Admission

LEFT_OUT = frozenset({"site-packages", "__pycache__"})
FLOW_WIDTH = 8


class Found(NamedTuple):
    """A regular file: its path below the folder, when it was changed (nanoseconds) and its size in bytes."""

    relative: str
    changed_ns: int
    size_bytes: int


def walk(folder: str, unlisted: list[str] | None = None) -> Iterator[Found]:
    """Every regular file below a folder, in the order of names; no symlink is taken or followed.

    `site-packages` and `__pycache__` are left out at every depth. Folders that cannot be listed go to `unlisted`.
    """
    pending = [""]
    while pending:
        below = pending.pop()
        try:
            with os.scandir(os.path.join(folder, below)) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            if unlisted is not None:
                unlisted.append(below)
            continue
        folders = []
        for entry in entries:
            relative = os.path.join(below, entry.name)
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in LEFT_OUT:
                        folders.append(relative)
                elif entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    yield Found(relative, found.st_mtime_ns, found.st_size)
            except OSError:
                continue
        pending.extend(reversed(folders))


def admission(workflow: str, definition: str, folder: str, found: Found, *, of_folder: bool = False) -> Admission:
    """The job of a file: its id is definition, path below the folder, time and size; its payload the whole path.

    `of_folder` adds the folder to the id, for a file that stands alike in another folder of the same library.
    """
    name = printable(found.relative)
    mark = f" {found.changed_ns} {found.size_bytes}"
    if of_folder:
        mark += " " + hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    room = MAX_NAME - len(definition) - len(mark) - 1
    if len(name) > room:
        name = hashlib.sha256(os.fsencode(found.relative)).hexdigest() + " …" + name[-(room - 66) :]
    return Admission(
        workflow=workflow,
        id=f"{definition} {name}{mark}",
        payload={"path": portable(os.path.join(folder, found.relative))},
        flow=flow_of(found.relative),
        width=FLOW_WIDTH,
    )


def flow_of(relative: str) -> str:
    """The top folder of a path, `.` for a file in the root."""
    top, separator, _ = relative.partition(os.sep)
    return printable(top)[:MAX_NAME] if separator else "."


def portable(path: str) -> str:
    """A path as JSON takes it: as it is, or, where a name is no UTF-8, percent-coded behind `file:`."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "file:" + "".join(map(_percent_coded, os.fsencode(path)))
    return path


def _percent_coded(byte: int) -> str:
    return chr(byte) if 32 < byte < 127 and byte != ord("%") else f"%{byte:02x}"


def path_of(portable_path: str) -> bytes:
    """The path behind `portable`; one that comes from it never starts with `file:` otherwise, since it is absolute."""
    if portable_path.startswith("file:"):
        data = portable_path[5:].encode("ascii")
        parts = data.split(b"%")
        return parts[0] + b"".join(bytes([int(part[:2], 16)]) + part[2:] for part in parts[1:])
    return os.fsencode(portable_path)


def printable(name: str) -> str:
    """A name without bytes that are no UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")

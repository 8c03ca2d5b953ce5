"""The log that the shim and its child write: calls that change the disk, and answers that were given."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

HEAD = struct.Struct("<cBHIQ")
ANSWER = b"A"


class Record(NamedTuple):
    """C created, W written, T truncated, S synced, U unlinked, A answered; `file` by the shim's `enum file`."""

    operation: str
    file: int
    offset: int
    data: bytes


class Answered(msgspec.Struct):
    """What a caller was told is so: jobs that were accepted, steps that were committed."""

    jobs: list[str] = []
    effects: list[tuple[str, int]] = []


def put_answer(log: int, answered: Answered) -> None:
    """Append an answer, in one piece."""
    data = msgspec.json.encode(answered)
    os.writev(log, [HEAD.pack(ANSWER, 0, 0, len(data), 0), data])


def read(path: Path) -> Iterator[Record]:
    """Every record in order."""
    content = path.read_bytes()
    place = 0
    while place < len(content):
        operation, file, _, length, offset = HEAD.unpack_from(content, place)
        place += HEAD.size
        held = length if operation in (b"W", ANSWER) else 0
        yield Record(operation.decode(), file, offset, content[place : place + held])
        place += held

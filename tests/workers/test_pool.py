"""The supervisor passes on what its children say, whole, at once, and however it comes in pieces."""

import os
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from workers.pool import Pool

SAID = b"imported\nready app=a:app\nstarted a\nno end of line"


async def forwarded(pieces: Sequence[bytes], seen: pytest.CaptureFixture[bytes]) -> list[bytes]:
    """What was passed on after each piece."""
    found: list[bytes] = []

    async def stdout() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
            found.append(seen.readouterr().out)

    process: Any = SimpleNamespace(stdout=stdout())
    await Pool(["python"], 1, limit_s=1, ends_by_itself=True)._forward(0, process)
    return [*found, seen.readouterr().out]


@pytest.mark.parametrize("cut", range(len(SAID) + 1))
async def test_two_pieces_say_the_same_as_one(cut: int, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    told = b"".join(await forwarded([SAID[:cut], SAID[cut:]], capsysbinary))
    ready = f"ready processes=1 pid={os.getpid()}\n".encode()
    assert told == SAID.replace(b"ready app=a:app\n", ready)


async def test_lines_of_one_piece_are_passed_on_at_once(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    at_once, *later = await forwarded([SAID], capsysbinary)
    assert at_once.startswith(b"imported\nready processes=1 ")
    assert at_once.endswith(b"\nstarted a\nno end of line")
    assert later == [b""]


async def test_what_a_child_says_before_it_is_ready_is_passed_on_line_by_line(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert await forwarded([b"one\ntwo\nthr", b"ee\n"], capsysbinary) == [b"one\ntwo\n", b"three\n", b""]

"""A settle goes at once and does not wait for others; still there is one group at a time on the thread."""

import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World
from runtime.protocol.records import ClaimRequest


@pytest.mark.parametrize("order", ["settle, admit", "admit, settle", "settle, settle"])
async def test_one_group_at_a_time_is_on_the_thread_also_where_a_settle_waits_for_nobody(
    here: World, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    await here.define(RELAY)
    writer, gate = here.store._writer, threading.Event()
    run, hand_over, answer = writer._groups.run, writer._connection.hand_over, writer._answer_all
    on_the_thread, overlaps = 0, []

    def handed_over(unit: Any) -> None:
        nonlocal on_the_thread
        overlaps.append(on_the_thread)
        on_the_thread += 1
        hand_over(unit)

    def answered(*group: Any) -> None:
        nonlocal on_the_thread
        on_the_thread -= 1
        answer(*group)

    def held(*unit: Any) -> None:
        assert gate.wait(10)
        run(*unit)

    monkeypatch.setattr(writer._groups, "run", held)
    monkeypatch.setattr(writer._connection, "hand_over", handed_over)
    monkeypatch.setattr(writer, "_answer_all", answered)
    calls = {
        "settle": lambda: here.store.settle(claim=ClaimRequest(1, W1)),
        "admit": lambda: here.store.admit("relay", "a", 1),
    }
    async with anyio.create_task_group() as group:
        for name in (*order.split(", "), "admit"):
            group.start_soon(calls[name])
            for _ in range(4):
                await anyio.lowlevel.checkpoint()
        gate.set()
    assert overlaps == [0, 0]


async def test_a_settle_is_on_its_way_before_it_waits_and_an_admission_gives_others_a_turn_to_join(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await here.define(RELAY)
    writer = here.store._writer
    hand_over, groups = writer._connection.hand_over, []

    def handed_over(unit: Any) -> None:
        groups.append([request.verb for request in unit.args[0]])
        hand_over(unit)

    monkeypatch.setattr(writer._connection, "hand_over", handed_over)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: here.store.settle(claim=ClaimRequest(1, W1)))
        group.start_soon(lambda: here.store.admit("relay", "a", 1))
        group.start_soon(lambda: here.store.admit("relay", "b", 1))
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: here.store.admit("relay", "c", 1))
        group.start_soon(lambda: here.store.admit("relay", "d", 1))
    assert groups == [["claim"], ["admit", "admit"], ["admit", "admit"]]

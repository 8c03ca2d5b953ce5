"""Receipts: a command that changed something answers again under its id, and changes nothing (contract §9)."""

from collections.abc import Awaitable, Callable

import pytest

from demos.scenarios.points import BOTH, D2, admit, define
from demos.scenarios.world import World, word
from runtime.protocol.records import Answer, Operation
from runtime.store import faults

Send = Callable[[World, str | None, str], Awaitable[Answer]]


async def redrive(here: World, command_id: str | None, reason: str) -> Answer:
    return await here.store.redrive("quarantined", 1, reason, command_id=command_id)


async def recover(here: World, command_id: str | None, reason: str) -> Answer:
    return await here.store.recover("flight", 1, reason, command_id=command_id)


async def quarantine_job(here: World, command_id: str | None, reason: str) -> Answer:
    return await here.store.quarantine_job("ready", 0, reason, command_id=command_id)


async def migrate(here: World, command_id: str | None, reason: str) -> Answer:
    return await here.store.migrate("ready", 0, D2, reason, command_id=command_id)


async def switch(here: World, command_id: str | None, reason: str) -> Answer:
    return await here.store.switch(D2, 1, reason=reason, command_id=command_id)


async def drain(here: World, command_id: str | None, reason: str) -> Answer:
    return await here.store.transition("drain", 0, reason=reason, command_id=command_id)


async def prepare(here: World) -> None:
    """Jobs in three states."""
    await define(here)
    for name in ("quarantined", "flight", "ready"):
        await admit(here, name)
    first, _ = (await here.store.claim(2, BOTH)).claims
    await here.store.quarantine(first.token, "unsure")


@pytest.mark.parametrize("send", [redrive, recover, quarantine_job, migrate, switch, drain])
async def test_a_command_under_its_id_is_answered_again_and_another_one_is_a_conflict(here: World, send: Send) -> None:
    await prepare(here)
    first = await send(here, "c1", "agreed")
    after = await here.photo()
    again = await send(here, "c1", "agreed")
    other = await send(here, "c1", "for another reason")
    bare = await send(here, None, "agreed")
    assert again == first
    assert word(other) == "conflict"
    assert word(bare) == "stale"
    assert await here.photo() == after


@pytest.mark.parametrize("send", [redrive, recover, quarantine_job, migrate, switch, drain])
async def test_the_receipt_is_in_the_transaction_of_what_it_stands_for(here: World, send: Send) -> None:
    await prepare(here)
    before = await here.photo()
    faults.plant(str(here.queue), "keepstep_receipt")
    with_fault = await here.error(send(here, "c1", "agreed"))
    faults.lift(str(here.queue))
    assert faults.TEXT in with_fault
    assert await here.photo() == before
    assert word(await send(here, "c1", "agreed")) not in ("stale", "refused", "conflict")


async def test_stale_refused_busy_and_unknown_leave_no_receipt(here: World) -> None:
    await prepare(here)
    store = here.store
    await store.redrive("flight", 1, "why", command_id="c1")
    await store.redrive("ready", 7, "why", command_id="c2")
    await store.redrive("nobody", 1, "why", command_id="c3")
    await store.transition("drain", 0)
    await store.transition("pause", 1, command_id="c4")
    assert (await here.tables())["keepstep_receipt"] == []


async def test_one_command_twice_in_a_batch_is_done_once(here: World) -> None:
    await prepare(here)
    items = [Operation("quarantined", 1, "why", command_id="c1")] * 2
    answers = await here.store.redrive_many(items)
    assert [word(answer) for answer in answers if isinstance(answer, Answer)] == ["redriven", "redriven"]
    assert len(await here.audits("quarantined")) == 1
    assert await here.fields("quarantined", "generation") == [2]

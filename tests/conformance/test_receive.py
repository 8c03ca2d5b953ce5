"""receive: the second file, its verdicts, and the relay step that meets them (contract §10)."""

import sys
from pathlib import Path

import anyio
import msgspec
import pytest

from demos.scenarios import delivery
from demos.scenarios.gate import environment
from demos.scenarios.world import World
from runtime.protocol.errors import (
    ForeignFile,
    InvalidValue,
    ItemError,
    NewerSchema,
    StoreBusy,
    StoreClosed,
    UnsafePath,
)
from runtime.protocol.receive import Delivery, Receipt
from runtime.store.inbox import Inbox
from runtime.store.turnstile import Turnstile
from tests.conformance.conftest import Saw


async def test_r05_opening_both_files_again_changes_nothing(saw: Saw) -> None:
    assert await saw(delivery.r05) == {"unchanged": True}


async def test_r05_both_files_are_write_ahead_and_fully_synchronous(here: World) -> None:
    for connection in (here.inbox._connection, here.store._writer._connection):
        found = await connection.run(
            lambda raw: [raw.execute(f"pragma {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        )
        assert found == ["wal", 2]


async def test_r30_deliveries_in_turn_are_accepted_and_added_up(saw: Saw) -> None:
    assert await saw(delivery.r30) == {"words": ["accepted", "accepted"], "totals": {"a": 15}}


async def test_r31_the_same_delivery_again_is_a_duplicate_and_adds_nothing(saw: Saw) -> None:
    assert await saw(delivery.r31) == {"word": "duplicate", "totals": {"a": 15}}


async def test_r32_another_body_or_another_id_at_a_number_is_a_conflict_for_ever(saw: Saw) -> None:
    seen = await saw(delivery.r32)
    assert seen["other body"] == "conflict"
    assert seen["other id"] == ["conflict", "conflict"]
    assert seen["totals"] == {"a": 15}
    assert seen["delivered"] == [["a1", "conflict", "quarantined"]] * 2
    state, reason = seen["a1"]
    assert state == "quarantined"
    assert reason.startswith("conflict")


async def test_r33_out_of_turn_is_a_gap_that_keeps_nothing_and_its_job_waits(saw: Saw) -> None:
    assert await saw(delivery.r33) == {
        "words": ["gap", "accepted", "accepted", "accepted"],
        "totals": {"a": 17, "b": 1},
        "met": ["c2", "gap", "retry"],
        "c2": ["ready", 2, 1],
    }


async def test_r34_a_lost_answer_ends_in_a_duplicate_and_the_delta_counts_once(saw: Saw) -> None:
    assert await saw(delivery.r34) == {
        "lost": "accepted",
        "attempts": [2],
        "again": ["duplicate", "done"],
        "totals": {"a": 10},
        "lifetime attempts": [2],
        "receipts": 1,
        "effects": 1,
    }


async def test_r35_an_unavailable_receiver_is_not_changed_and_its_job_waits(saw: Saw) -> None:
    assert await saw(delivery.r35) == {
        "unavailable": ["a1", "unavailable", "retry"],
        "waits": ["ready", 2, 1],
        "totals then": {},
        "available": ["a1", "accepted", "done"],
        "a1": [2],
    }


async def test_r36_raised_and_redriven_the_same_message_is_applied_once(saw: Saw) -> None:
    assert await saw(delivery.r36) == {
        "delivered": [["a1", "unsupported", "quarantined"], ["b1", "accepted", "done"], None],
        "a1": ["quarantined", 1],
        "totals": {"b": 10},
        "redriven": "redriven",
        "then": [["a1", "accepted", "done"], ["a2", "accepted", "done"], None],
        "totals then": {"a": 160, "b": 10},
    }


async def test_r37_redriven_without_raising_the_capability_it_is_quarantined_again(saw: Saw) -> None:
    assert await saw(delivery.r37) == {
        "again": ["a1", "unsupported", "quarantined"],
        "history": ["quarantined", "quarantined"],
        "audits": 1,
        "a1": ["quarantined", 2],
    }


async def test_r43_a_delivery_whose_effect_fails_leaves_no_receipt(saw: Saw) -> None:
    assert await saw(delivery.r43) == {
        "fault": True,
        "unchanged": True,
        "then": "accepted",
        "totals": {"a": 15},
    }


async def test_a_batch_is_judged_in_order_and_a_bad_item_fails_no_neighbour(here: World) -> None:
    def event(number: int, delta: object, name: str | None = None) -> Delivery:
        return Delivery(name or f"a{number}", "a", number, {"delta": delta})

    items = [event(1, 1), event(1, 1), event(1, 2), event(2, 0), event(2, 5), event(4, 1), event(2, 5, "x")]
    answers = await here.inbox.receive_many(items)
    assert [str(one.verdict) if isinstance(one, Receipt) else type(one).__name__ for one in answers] == [
        "accepted",
        "duplicate",
        "conflict",
        "InvalidValue",
        "accepted",
        "gap",
        "conflict",
    ]
    assert await here.inbox.totals() == {"a": 6}


async def test_many_callers_at_once_are_all_answered(here: World) -> None:
    found: list[str] = []

    async def send(number: int) -> None:
        receipt = await here.inbox.receive(f"e{number}", f"f{number % 7}-{number}", 1, {"delta": 1})
        found.append(str(receipt.verdict))

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(send, number)
    assert found == ["accepted"] * 100


async def test_of_three_processes_that_deliver_the_same_events_each_is_applied_once(tmp_path: Path) -> None:
    path, events, answers = tmp_path / "receiver.db", 40, []

    async def process() -> None:
        program = str(Path(__file__).with_name("deliver.py"))
        ended = await anyio.run_process([sys.executable, "-P", program, str(path), str(events)], env=environment())
        answers.append(msgspec.json.decode(ended.stdout, type=dict[str, int]))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(process)
    assert sum(answer.get("accepted", 0) for answer in answers) == events
    assert sum(answer.get("duplicate", 0) for answer in answers) == 2 * events
    async with await Inbox.open(path) as inbox:
        assert await inbox.totals() == {"a": events}


@pytest.mark.parametrize(
    ("delivery_of", "place"),
    [
        (Delivery("", "a", 1, {"delta": 1}), "event_id"),
        (Delivery("a1", "a\0", 1, {"delta": 1}), "flow"),
        (Delivery("a1", "a", 0, {"delta": 1}), "seq"),
        (Delivery("a1", "a", True, {"delta": 1}), "seq"),
        (Delivery("a1", "a", 1, [1]), "body"),
        (Delivery("a1", "a", 1, {"delta": 1, "more": 2}), "body.more"),
    ],
)
async def test_what_is_no_delivery_is_an_error_that_names_the_place(
    here: World, delivery_of: Delivery, place: str
) -> None:
    (error,) = await here.inbox.receive_many([delivery_of])
    assert isinstance(error, ItemError)
    assert isinstance(error, InvalidValue)
    assert error.place == place
    assert (await here.inbox.dump())["inbox_receipt"] == []


async def test_max_delta_is_stored_and_counts_only_at_creation_when_opened(tmp_path: Path) -> None:
    async with await Inbox.open(tmp_path / "r.db", max_delta=7) as inbox:
        await inbox.set_max_delta(9)
    async with await Inbox.open(tmp_path / "r.db", max_delta=100) as inbox:
        assert await inbox.max_delta() == 9
        for bad in (0, 1_001, True):
            with pytest.raises(InvalidValue, match="max_delta"):
                await inbox.set_max_delta(bad)


async def test_a_stores_file_is_refused_as_an_inbox_and_the_reverse(here: World, tmp_path: Path) -> None:
    with pytest.raises(ForeignFile):
        await Inbox.open(here.queue)
    with pytest.raises(ForeignFile):
        await type(here.store).open(here.receiver)


async def test_a_newer_schema_and_an_unsafe_path_are_refused(tmp_path: Path) -> None:
    async with await Inbox.open(tmp_path / "r.db") as inbox:
        await inbox._connection.run(lambda raw: raw.execute("pragma user_version = 99"))
    with pytest.raises(NewerSchema):
        await Inbox.open(tmp_path / "r.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "r.db")
    with pytest.raises(UnsafePath):
        await Inbox.open(tmp_path / "link.db")


async def test_a_turn_that_another_process_keeps_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    async with await Inbox.open(path, deadline_ms=20) as inbox:
        other = Turnstile(str(path))
        other.enter(float("inf"))
        with pytest.raises(StoreBusy):
            await inbox.receive("a1", "a", 1, {"delta": 1})
        other.close()
        assert (await inbox.receive("a1", "a", 1, {"delta": 1})).verdict == "accepted"


async def test_a_closed_inbox_says_so_and_closing_twice_is_allowed(tmp_path: Path) -> None:
    inbox = await Inbox.open(tmp_path / "r.db")
    await inbox.close()
    await inbox.close()
    with pytest.raises(StoreClosed):
        await inbox.totals()

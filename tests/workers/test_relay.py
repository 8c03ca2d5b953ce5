"""The relay's app: what its step ends with, by the receiver's answer (contract §10)."""

import json
from pathlib import Path

import pytest

from runtime.protocol.errors import InvalidValue
from runtime.protocol.ports import Outcome
from runtime.protocol.receive import Received
from runtime.protocol.records import Claim, Token
from tests.workers.desk import Desk, attempt, commit
from workers.inbox import Inbox, InboxAt
from workers.relay import FOLLOWS, Relay, RelayApp
from workers.worker import Worker


async def delivered(app: RelayApp, name: str, seq: int, delta: int) -> Outcome:
    """One attempt at delivering an event of flow a."""
    token = Token(name, 0, 1, 0, app.delivery.digest)
    claim = Claim(token, "relay", "a", seq, json.dumps({"delta": delta}), 1, 1, 0, 30_000, 1)
    async with Worker(app, Desk(), store_id="store-1", id="w1") as worker:
        return await attempt(worker, claim)


def told(outcome: Outcome) -> tuple[str, object]:
    """The verb, and the value or the first word of the reason."""
    if outcome.verb == "commit_step":
        return outcome.verb, commit(outcome).value
    return outcome.verb, outcome.item.reason  # type: ignore[union-attr]


def test_every_answer_of_a_receiver_has_a_verb_that_follows() -> None:
    assert set(FOLLOWS) == set(Received)


async def test_accepted_and_duplicate_commit_gap_fails_conflict_and_unsupported_quarantine(tmp_path: Path) -> None:
    async with await Inbox.open(tmp_path / "receiver.db", max_delta=100) as inbox:
        app = RelayApp(Relay(inbox))
        assert told(await delivered(app, "a1", 1, 10)) == ("commit_step", {"received": "accepted"})
        assert told(await delivered(app, "a1", 1, 10)) == ("commit_step", {"received": "duplicate"})
        for name, seq, delta, verb, word in (
            ("a3", 3, 1, "fail", "gap"),
            ("a1", 1, 11, "quarantine", "conflict"),
            ("a2", 2, 150, "quarantine", "unsupported"),
        ):
            found, reason = told(await delivered(app, name, seq, delta))
            assert found == verb
            assert word in str(reason)
        assert await inbox.totals() == {"a": 10}


async def test_while_it_is_unavailable_nothing_is_sent_and_the_attempt_fails(tmp_path: Path) -> None:
    relay = Relay(InboxAt(tmp_path / "receiver.db"), unavailable=True)
    verb, reason = told(await delivered(RelayApp(relay), "a1", 1, 10))
    assert verb == "fail"
    assert "unavailable" in str(reason)
    assert not (tmp_path / "receiver.db").exists()


async def test_a_receivers_file_is_opened_at_the_first_delivery(tmp_path: Path) -> None:
    receiver = InboxAt(tmp_path / "receiver.db")
    assert told(await delivered(RelayApp(Relay(receiver)), "a1", 1, 10))[0] == "commit_step"
    await receiver.close()


def test_a_payload_is_checked_before_admission() -> None:
    app = RelayApp(Relay(InboxAt("receiver.db")))
    assert app.admission("a1", {"delta": 1}, flow="a").payload == {"delta": 1}
    with pytest.raises(InvalidValue, match=r"payload\.delta: an integer from 1 to 1000"):
        app.admission("a1", {"delta": 0}, flow="a")

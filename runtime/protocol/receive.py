"""The receiver's rules: what a delivery is and what becomes of it (contract §10). No I/O.

A body is `{"delta": n}`; its local effect adds n to the flow's total.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from runtime.protocol.canonical import canonical, check_integer, check_name
from runtime.protocol.errors import InvalidValue
from runtime.protocol.records import Record

LEAST_DELTA = 1
MOST_DELTA = 1_000


class Received(StrEnum):
    """What a receiver answers. `UNAVAILABLE` is the sender's word for no answer: nothing was sent."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    GAP = "gap"
    UNSUPPORTED = "unsupported"
    UNAVAILABLE = "unavailable"


class Delivery(Record, frozen=True):
    """One message as it is delivered, again and again if need be: always the same id, flow, seq and body."""

    event_id: str
    flow: str
    seq: int
    body: Any


class Receipt(Record, frozen=True):
    """The answer to a delivery: the verdict, why in words, the flow's next sequence number and its total."""

    verdict: Received
    cause: str | None = None
    next_seq: int | None = None
    total: int | None = None


class Message(Record, frozen=True):
    """A delivery that was checked at the door; `body` is canonical JSON."""

    event_id: str
    flow: str
    seq: int
    body: str
    delta: int


class Kept(Record, frozen=True):
    """What stands under an event's id."""

    flow: str
    seq: int
    body: str


class Head(Record, frozen=True):
    """Where a flow stands at the receiver."""

    next_seq: int = 1
    total: int = 0


class Facts(msgspec.Struct):
    """What the receiver knows of a batch: receipts by id, ids by flow and seq, flows; `judge` keeps it up to date."""

    max_delta: int
    kept: dict[str, Kept]
    taken: dict[tuple[str, int], str]
    heads: dict[str, Head]


def check_body(body: object, place: str = "body") -> int:
    """The delta of a body; `InvalidValue` names `delta` and its range."""
    if not isinstance(body, Mapping):
        raise InvalidValue(place, f"an object with one field, delta, is expected, got {type(body).__name__}")
    if "delta" not in body:
        raise InvalidValue(f"{place}.delta", f"is missing; an integer from {LEAST_DELTA} to {MOST_DELTA} is expected")
    for field in body:
        if field != "delta":
            raise InvalidValue(f"{place}.{field}", "an unknown field; a body has delta and nothing else")
    delta = body["delta"]
    if type(delta) is not int or not LEAST_DELTA <= delta <= MOST_DELTA:
        raise InvalidValue(
            f"{place}.delta", f"an integer from {LEAST_DELTA} to {MOST_DELTA} is expected, got {delta!r:.40}"
        )
    return delta


def check_delivery(delivery: Delivery) -> Message:
    """A delivery as it is judged and kept; `InvalidValue` names the place of what is wrong with it."""
    if not isinstance(delivery, Delivery):
        raise InvalidValue("delivery", f"a Delivery is expected, got {type(delivery).__name__}")
    event_id = check_name(delivery.event_id, "event_id")
    flow = check_name(delivery.flow, "flow")
    seq = check_integer(delivery.seq, "seq", least=1)
    delta = check_body(delivery.body)
    return Message(event_id, flow, seq, canonical(delivery.body, "body").decode(), delta)


def judge(message: Message, facts: Facts) -> Receipt:
    """What becomes of a message, in this order: known, taken, out of turn, beyond the capability, accepted.

    The first that stands under an id, or at a place of a flow, stands for ever; `facts` then holds what was accepted.
    """
    head = facts.heads.get(message.flow, Head())
    kept = facts.kept.get(message.event_id)
    if kept is not None:
        return _known(message, kept, head)
    other = facts.taken.get((message.flow, message.seq))
    if other is not None:
        cause = f"number {message.seq} of flow {message.flow!r} is taken by event {other!r}"
        return Receipt(Received.CONFLICT, cause, head.next_seq, head.total)
    if message.seq != head.next_seq:
        cause = f"number {message.seq} of flow {message.flow!r} is out of turn: number {head.next_seq} is next"
        return Receipt(Received.GAP, cause, head.next_seq, head.total)
    if message.delta > facts.max_delta:
        cause = f"delta {message.delta} is beyond this receiver's max_delta {facts.max_delta}"
        return Receipt(Received.UNSUPPORTED, cause, head.next_seq, head.total)
    head = Head(head.next_seq + 1, head.total + message.delta)
    facts.heads[message.flow] = head
    facts.kept[message.event_id] = Kept(message.flow, message.seq, message.body)
    facts.taken[message.flow, message.seq] = message.event_id
    return Receipt(Received.ACCEPTED, None, head.next_seq, head.total)


def _known(message: Message, kept: Kept, head: Head) -> Receipt:
    for field in ("flow", "seq", "body"):
        if getattr(message, field) != getattr(kept, field):
            cause = f"event {message.event_id!r} is known with another {field}"
            return Receipt(Received.CONFLICT, cause, head.next_seq, head.total)
    return Receipt(Received.DUPLICATE, None, head.next_seq, head.total)

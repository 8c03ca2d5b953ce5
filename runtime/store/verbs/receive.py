"""receive: deliveries judged, kept and applied (contract §10)."""

import json
import sqlite3
from collections.abc import Sequence

from runtime.protocol.errors import ItemError
from runtime.protocol.receive import Facts, Head, Kept, Message, Receipt, Received, judge
from runtime.store import points, statements


def receive(raw: sqlite3.Connection, messages: Sequence[Message | ItemError]) -> list[Receipt | ItemError]:
    """The verb over a transaction: facts, judgement, what was accepted is kept and applied."""
    known = statements.load("receive")
    good = [message for message in messages if isinstance(message, Message)]
    facts = _facts(raw, good)
    answers: list[Receipt | ItemError] = []
    accepted: list[Message] = []
    for message in messages:
        if isinstance(message, ItemError):
            answers.append(message)
            continue
        receipt = judge(message, facts)
        answers.append(receipt)
        if receipt.verdict is Received.ACCEPTED:
            accepted.append(message)
    keep = [{"event_id": m.event_id, "flow": m.flow, "seq": m.seq, "body": m.body} for m in accepted]
    raw.executemany(known["keep"], keep)
    points.reach("receive", "keep")
    heads = [(flow, facts.heads[flow]) for flow in dict.fromkeys(message.flow for message in accepted)]
    raw.executemany(
        known["apply"], [{"flow": flow, "next_seq": head.next_seq, "total": head.total} for flow, head in heads]
    )
    points.reach("receive", "apply")
    return answers


def _facts(raw: sqlite3.Connection, messages: Sequence[Message]) -> Facts:
    known = statements.load("receive")
    ((max_delta,),) = raw.execute(known["capability"]).fetchall()
    points.reach("receive", "capability")
    facts = Facts(max_delta, {}, {}, {})
    batch = json.dumps([(message.event_id, message.flow, message.seq) for message in messages])
    for event_id, flow, seq, kept_flow, kept_seq, body, holder, next_seq, total in raw.execute(
        known["facts"], {"batch": batch}
    ):
        if body is not None:
            facts.kept[event_id] = Kept(kept_flow, kept_seq, body)
        if holder is not None:
            facts.taken[flow, seq] = holder
        if next_seq is not None:
            facts.heads[flow] = Head(next_seq, total)
    points.reach("receive", "facts")
    return facts

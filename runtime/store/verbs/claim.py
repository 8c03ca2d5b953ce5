"""claim: the flows and the jobs without a flow whose turn it is; the flows' next jobs."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from runtime.protocol.canonical import check_integer, check_name
from runtime.protocol.errors import InvalidValue, ItemError
from runtime.protocol.lifecycle import Definition, Phase
from runtime.protocol.records import Claim, ClaimRequest, Claims, Token, Worker
from runtime.protocol.verdicts import Mode
from runtime.store.transaction import Transaction, as_json
from runtime.store.verbs.sweep import sweep_due

# (round, served, number of the flow or of the job without one, flow name, width, job row); sorted, this is the order of
# claims made one at a time
Slot = tuple[int, int, int, str | None, int, tuple[Any, ...]]
TURN = itemgetter(0, 1, 2)


def claim(tx: Transaction, items: Sequence[ClaimRequest]) -> list[Claims | ItemError]:
    """Up to `limit` claims of what the worker declares; empty, and `paused`, behind a closed barrier."""
    answers: list[Claims | ItemError] = []
    for item in items:
        try:
            answers.append(_claim(tx, item))
        except InvalidValue as error:
            answers.append(error)
    return answers


def _claim(tx: Transaction, item: ClaimRequest) -> Claims:
    check_integer(item.limit, "limit", most=100_000)
    check_name(item.worker.id, "worker")
    control = tx.control
    mode = Mode(control.mode)
    if mode == Mode.PAUSED:
        return Claims(mode, control.version, ())
    sweep_due(tx)
    known = tx.definitions(item.worker.manifests)
    slots = _slots(tx, item.limit, list(known.values())) if known and item.limit else []
    claims = _take(tx, item.worker, slots) if slots else ()
    next_due = None
    if len(claims) < item.limit:
        ((next_due,),) = tx.rows("claim.next_due")
    return Claims(mode, control.version, claims, next_due)


def _slots(tx: Transaction, limit: int, known: list[Definition]) -> list[Slot]:
    definitions = as_json([definition.id for definition in known])
    picked = tx.rows("claim.pick", {"definitions": definitions, "limit": limit})
    slots: list[Slot] = [(0, row[1], row[0], row[4], row[2], row[5:]) for row in picked]
    wide = {row[0]: row for row in picked if row[2] - row[3] > 1}
    if len(slots) < limit and wide:
        flows = as_json([[row[0], row[2] - row[3], row[1]] for row in wide.values()])
        for row in tx.rows("claim.more", {"flows": flows, "definitions": definitions, "limit": limit}):
            flow = wide[row[11]]
            slots.append((row[0], flow[1], flow[0], flow[4], flow[2], row[1:11]))
    slots.sort(key=TURN)
    return slots[:limit]


def _take(tx: Transaction, worker: Worker, slots: list[Slot]) -> tuple[Claim, ...]:
    control = tx.control
    number = tx.worker(worker.id)
    flows: dict[int, list[int]] = {}
    groups: dict[tuple[int, int], dict[int, int | None]] = {}
    claims = []
    for ticket, (_, _, flow, name, _, row) in enumerate(slots, control.ticket + 1):
        job, key, seq, definition, cursor, generation, attempts, lifetime, binding, body = row
        if name is not None:
            entry = flows.setdefault(flow, [flow, 0, 0])
            entry[1] = ticket
            entry[2] += 1
        groups.setdefault((definition, cursor), {})[job] = ticket if name is None else None
        known = tx.definition(definition)
        claims.append(
            Claim(
                Token(key, binding, generation + 1, cursor, known.digest),
                known.workflow,
                name,
                seq,
                body,
                attempts + 1,
                lifetime + 1,
                tx.now,
                tx.now + known.steps[cursor].lease,
                ticket,
            )
        )
    for (definition, cursor), jobs in groups.items():
        _put_in_flight(tx, tx.definition(definition), cursor, jobs, number)
    if flows:
        tx.rows("claim.flows", {"flows": as_json(list(flows.values()))})
    for _, _, flow, _, width, _ in slots:
        if width:
            tx.touch(flow)
    tx.flush()
    control.ticket += len(slots)
    return tuple(claims)


def _put_in_flight(
    tx: Transaction, definition: Definition, cursor: int, jobs: dict[int, int | None], worker: int | None
) -> None:
    policy = definition.steps[cursor]
    phase = Phase.HELD if policy.hold else Phase.INFLIGHT
    lease = tx.now + policy.lease
    params = {
        "state": int(phase),
        "due": None if policy.hold else lease + 1,
        "lease": lease,
        "now": tx.now,
        "worker": worker,
        "jobs": as_json(jobs),
    }
    tx.rows("claim.jobs", params)
    tx.count(definition.id, Phase.READY, -len(jobs))
    tx.count(definition.id, phase, len(jobs))

"""claim: the flows and the jobs without a flow whose turn it is; the flows' next jobs."""

from collections import defaultdict
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

# as `pick` gives them: number of the flow or of the job without one, served, width, taken, flow name, then the job's
Row = tuple[Any, ...]
TURN = itemgetter(1, 0)


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
    rows = _picked(tx, item.limit, list(known.values())) if known and item.limit else []
    claims = _take(tx, item.worker, rows, {each.id: each for each in known.values()}) if rows else ()
    next_due = None
    if len(claims) < item.limit:
        ((next_due,),) = tx.rows("claim.next_due")
    return Claims(mode, control.version, claims, next_due)


def _picked(tx: Transaction, limit: int, known: list[Definition]) -> list[Row]:
    """In the order of claims made one at a time: each flow's first and each lone job, then the flows' further jobs."""
    definitions = as_json([definition.id for definition in known])
    rows = tx.rows("claim.pick", {"definitions": definitions, "limit": limit})
    rows.sort(key=TURN)
    wide = {row[0]: row for row in rows if row[2] - row[3] > 1}
    if len(rows) < limit and wide:
        flows = as_json([[row[0], row[2] - row[3], row[1]] for row in wide.values()])
        more = tx.rows("claim.more", {"flows": flows, "definitions": definitions, "limit": limit})
        rows += [wide[row[0]][:5] + row[1:] for row in more]
    return rows[:limit]


def _take(tx: Transaction, worker: Worker, rows: list[Row], known: dict[int, Definition]) -> tuple[Claim, ...]:
    control = tx.control
    now = tx.now
    number = tx.worker(worker.id)
    flows: dict[int, list[int]] = {}
    groups: defaultdict[tuple[int, int], dict[int, int | None]] = defaultdict(dict)
    claims = []
    for ticket, row in enumerate(rows, control.ticket + 1):
        flow, _, width, _, name, job, key, seq, definition, cursor, generation, attempts, lifetime, binding, body = row
        if name is not None:
            entry = flows.setdefault(flow, [flow, 0, 0])
            entry[1] = ticket
            entry[2] += 1
            if width:
                tx.touch(flow)
        groups[definition, cursor][job] = ticket if name is None else None
        of = known[definition]
        token = Token(key, binding, generation + 1, cursor, of.digest)
        lease_until = now + of.steps[cursor].lease
        claims.append(
            Claim(token, of.workflow, name, seq, body, attempts + 1, lifetime + 1, now, lease_until, ticket)
        )
    for (definition, cursor), jobs in groups.items():
        _put_in_flight(tx, known[definition], cursor, jobs, number)
    if flows:
        tx.rows("claim.flows", {"flows": as_json(list(flows.values()))})
    tx.flush()
    control.ticket += len(rows)
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

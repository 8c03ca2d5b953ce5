"""admit: identity, door, capacity, route, place in the flow: judged in that order, item by item, over facts."""

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.protocol.canonical import canonical, check_integer, check_name
from runtime.protocol.errors import InvalidValue, ItemError, NoRoute
from runtime.protocol.lifecycle import Definition, Phase
from runtime.protocol.records import Admission, Answer, JobRecord
from runtime.protocol.verdicts import Mode, State, Verdict
from runtime.store.transaction import Transaction, as_json
from runtime.store.verbs.record import record

# a payload of so many characters stands in its job's row, which is written anew by every claim and commit
SHORT = 100


class Known(msgspec.Struct):
    """A job that exists, in the store or earlier in this call; `width` is None for an ordered flow."""

    record: JobRecord
    body: str
    width: int | None


class Flow(msgspec.Struct):
    """A flow as the fold sees it; `first_definition` is that of the job which makes it here and gives it its number."""

    name: str
    id: int
    width: int
    next_seq: int
    unfinished: int
    served: int
    first_definition: int | None = None
    added: int = 0


def admit(tx: Transaction, items: Sequence[Admission]) -> list[Answer | ItemError]:
    """`accepted`, `replay`, `conflict`, `closed`, `full`; a refused value or a missing route is an `ItemError`."""
    bodies = [_body(item) for item in items]
    fold = Fold(tx, [item for item, body in zip(items, bodies, strict=True) if isinstance(body, str)])
    answers = [
        body if isinstance(body, ItemError) else fold.judge(item, body)
        for item, body in zip(items, bodies, strict=True)
    ]
    fold.write()
    return answers


def _body(item: Admission) -> str | ItemError:
    try:
        check_name(item.workflow, "workflow")
        check_name(item.id, "id")
        if item.flow is not None:
            check_name(item.flow, "flow")
        if item.width is not None:
            check_integer(item.width, "width", least=1)
            if item.flow is None:
                raise InvalidValue("width", "goes with a flow; a job without a flow has one of its own")
        return canonical(item.payload, "payload").decode()
    except InvalidValue as error:
        return error


class Fold:
    """The items in call order, with a dict of identities and one of flows."""

    def __init__(self, tx: Transaction, items: Sequence[Admission]) -> None:
        self.tx = tx
        self.jobs: list[tuple[Any, ...]] = []
        self.payloads: list[tuple[int, str]] = []
        keys = as_json([item.id for item in items])
        self.known = {row[0]: self._known(row) for row in tx.rows("admit.known", {"keys": keys})}
        workflows = as_json(list({item.workflow for item in items}))
        self.routes: dict[str, Definition] = {
            workflow: tx.definition(id)
            for workflow, id in tx.rows("admit.routes", {"workflows": workflows})  # noqa: A001
        }
        names = list({item.flow for item in items if item.flow is not None})
        rows = tx.rows("admit.flows", {"names": as_json(names)}) if names else []
        self.flows = {row[0]: Flow(*row) for row in rows}

    def _known(self, row: tuple[Any, ...]) -> Known:
        found = record(row, self.tx.definition(row[3]), self.tx.definition(row[4]))
        return Known(found, row[17], row[18] or None)

    def judge(self, item: Admission, body: str) -> Answer | ItemError:
        """One item."""
        known = self.known.get(item.id)
        if known is not None:
            return _identity(item, body, known)
        control = self.tx.control
        if control.mode != Mode.OPEN:
            cause = f"the store is {control.mode}: nothing new is accepted until it is resumed"
            return Answer(Verdict.CLOSED, cause=cause, mode=Mode(control.mode), version=control.version)
        flow = self.flows.get(item.flow) if item.flow is not None else None
        if control.capacity is not None and control.unfinished >= control.capacity:
            cause = f"the store's capacity of {control.capacity} unfinished jobs is reached"
            return Answer(Verdict.FULL, cause=cause, field="capacity")
        limit = control.flow_capacity
        if limit is not None and item.flow is not None and (flow.unfinished if flow else 0) >= limit:
            cause = f"flow {item.flow!r} has reached the capacity of {limit} unfinished jobs per flow"
            return Answer(Verdict.FULL, cause=cause, field="flow_capacity")
        definition = self.routes.get(item.workflow)
        if definition is None:
            return NoRoute(item.workflow)
        return self._accept(item, body, definition)

    def _accept(self, item: Admission, body: str, definition: Definition) -> Answer:
        control = self.tx.control
        control.last_job += 1
        control.unfinished += 1
        job = control.last_job
        newcomer = control.ticket if control.newcomers == "behind" else 0
        flow, seq, width = 0, 1, None
        if item.flow is not None:
            flow, seq, width = self._join(item.flow, item.width or 0, job, definition, newcomer)
        served = newcomer if item.flow is None else None
        now, digest = self.tx.now, definition.digest
        short = body if len(body) <= SHORT else None
        self.jobs.append((job, item.id, flow, seq, definition.id, definition.id, now, now, served, short))
        if short is None:
            self.payloads.append((job, body))
        accepted = JobRecord(
            *(item.id, item.workflow, item.flow, seq, digest, digest, 0, State.READY, 0, 0, 0, 0),
            *(None, None, now, None, None, now),
        )
        self.tx.count(definition.id, Phase.READY, 1)
        self.known[item.id] = Known(accepted, body, width)
        return Answer(Verdict.ACCEPTED, record=accepted, width=width)

    def _join(
        self, name: str, width: int, job: int, definition: Definition, newcomer: int
    ) -> tuple[int, int, int | None]:
        """The job takes the next place in its flow, which it makes if there is none: the flow, the place, the width."""
        flow = self.flows.get(name)
        if flow is None:
            flow = self.flows[name] = Flow(name, job, width, 1, 0, 0, first_definition=definition.id)
        if flow.unfinished == 0:
            flow.served = max(flow.served, newcomer)
        place = flow.next_seq
        flow.next_seq += 1
        flow.unfinished += 1
        flow.added += 1
        return flow.id, place, flow.width or None

    def write(self) -> None:
        """What was decided, set-based."""
        if not self.jobs:
            return
        tx = self.tx
        made = [
            (f.id, f.name, f.width, f.served, f.next_seq, f.unfinished, f.id, f.first_definition)
            for f in self.flows.values()
            if f.first_definition is not None
        ]
        if made:
            tx.many("admit.new_flows", made)
        tx.many("admit.jobs", self.jobs)
        if self.payloads:
            tx.many("admit.payloads", self.payloads)
        grown = [flow for flow in self.flows.values() if flow.added and flow.first_definition is None]
        if grown:
            rows = [[flow.id, flow.next_seq, flow.served] for flow in grown]
            tx.rows("admit.grown", {"flows": as_json(rows)})
            for flow in grown:
                tx.touch(flow.id, flow.added)
        tx.flush()


def _identity(item: Admission, body: str, known: Known) -> Answer:
    found = known.record
    for field, same in (
        ("workflow", item.workflow == found.workflow),
        ("flow", item.flow == found.flow),
        ("payload", body == known.body),
    ):
        if not same:
            cause = f"a job {item.id!r} exists with another {field}; it stands as it was accepted"
            return Answer(Verdict.CONFLICT, cause=cause, record=found, field=field, width=known.width)
    return Answer(Verdict.REPLAY, record=found, width=known.width)

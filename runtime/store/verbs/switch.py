"""switch: where new jobs of a workflow go; it changes no existing job."""

import json
from collections.abc import Sequence

from runtime.protocol.canonical import check_integer, check_name, check_reason
from runtime.protocol.errors import ItemError
from runtime.protocol.records import Answer, Switch
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.receipts import audit_row, with_receipts


def switch(tx: Transaction, items: Sequence[Switch]) -> list[Answer | ItemError]:
    """`switched` with the new revision, `stale`, or `refused` for a digest that is not registered."""
    known = tx.definitions(str(item.digest) for item in items)
    workflows = [definition.workflow for definition in known.values()]
    routes = {
        workflow: (definition, revision)
        for workflow, definition, revision in tx.rows("switch.routes", {"workflows": json.dumps(workflows)})
    }
    changed: dict[str, tuple[int, int]] = {}
    audits = []

    def judge(item: Switch) -> Answer:
        check_name(item.digest, "digest")
        check_integer(item.expected_revision, "expected_revision")
        if item.reason is not None:
            check_reason(item.reason)
        target = known.get(item.digest)
        if target is None:
            return Answer(Verdict.REFUSED, cause=f"definition {item.digest} is not registered: register it first")
        before, revision = routes.get(target.workflow, (None, 0))
        if item.expected_revision != revision:
            cause = f"the route's revision is {revision}, not {item.expected_revision}"
            return Answer(Verdict.STALE, cause=cause, digest=_digest(tx, before), revision=revision)
        routes[target.workflow] = changed[target.workflow] = (target.id, revision + 1)
        audits.append(
            audit_row(
                tx,
                item,
                job=None,
                subject=target.workflow,
                before={"digest": _digest(tx, before), "revision": revision},
                after={"digest": target.digest, "revision": revision + 1},
            )
        )
        return Answer(Verdict.SWITCHED, digest=target.digest, revision=revision + 1)

    answers = with_receipts(tx, items, judge)
    if changed:
        tx.many("transaction.audit", audits)
        tx.many("switch.put", [(workflow, *route) for workflow, route in changed.items()])
    return answers


def _digest(tx: Transaction, definition: int | None) -> str | None:
    return None if definition is None else tx.definition(definition).digest

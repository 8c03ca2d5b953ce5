"""renew: a longer lease, never past the step's time limit and one lease from the claim."""

from collections.abc import Sequence

from runtime.protocol.errors import InvalidValue, ItemError
from runtime.protocol.lifecycle import Facts, Phase
from runtime.protocol.records import Answer, Renewal
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.callbacks import NO_SUCH_JOB, Callbacks, refusal


def renew(tx: Transaction, items: Sequence[Renewal]) -> list[Answer | ItemError]:
    """`renewed` with the lease's end. A renewal that comes too late is told so and leaves nothing."""
    callbacks = Callbacks(tx, [item.token for item in items])
    answers: list[Answer | ItemError] = []
    changed: dict[int, Facts] = {}
    for item in items:
        try:
            judged = callbacks.judge(item.token, item.worker)
        except InvalidValue as error:
            answers.append(error)
            continue
        if judged is None:
            answers.append(NO_SUCH_JOB)
            continue
        facts, verdict = judged
        if verdict is not None:
            answers.append(refusal(facts, item.token, verdict))
            continue
        policy = tx.definition(facts.definition).steps[facts.cursor]
        assert facts.since is not None
        facts.lease = min(tx.now + policy.lease, facts.since + policy.time_limit + policy.lease)
        facts.due = facts.lease + 1 if facts.state == Phase.INFLIGHT else None
        changed[facts.id] = facts
        answers.append(Answer(Verdict.RENEWED, lease_until=facts.lease))
    tx.put(changed.values())
    return answers

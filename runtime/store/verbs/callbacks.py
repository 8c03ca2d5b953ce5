"""What the callbacks of workers have in common: facts, the token's judgement, the row of history for a refusal."""

from collections.abc import Callable, Sequence

from runtime.protocol.canonical import check_integer, check_name, check_reason
from runtime.protocol.errors import InvalidValue, ItemError
from runtime.protocol.lifecycle import Facts, judge
from runtime.protocol.records import Answer, Callback, Token
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction

NO_SUCH_JOB = Answer(Verdict.UNKNOWN, cause="no such job")


class Callbacks:
    """Judges tokens against facts that are read once and kept up to date by whoever changes them."""

    def __init__(self, tx: Transaction, tokens: Sequence[Token]) -> None:
        self.tx = tx
        self.workers: set[str] = set()
        self.facts = tx.facts(token.job for token in tokens if isinstance(token.job, str))
        self.definitions = tx.definitions(token.digest for token in tokens if isinstance(token.digest, str))

    def judge(self, token: Token, worker: str | None = None) -> tuple[Facts, Verdict | None] | None:
        """The job's facts and why the token may not write (None: it may); None for a job that does not exist.

        `InvalidValue` for a token or a worker's id that cannot be one.
        """
        if worker is not None and (type(worker) is not str or worker not in self.workers):
            self.workers.add(check_name(worker, "worker"))
        facts = self.facts.get(token.job) if type(token.job) is str else None
        definition = self.definitions.get(token.digest) if type(token.digest) is str else None
        # what was found under a name is a name; only what was not needs a closer look
        if facts is None or definition is None or not _has_integers(token):
            check_token(token)
        if facts is None:
            return None
        verdict = judge(facts, token, definition.id if definition else None, self.tx.now)
        if verdict is not None:
            # a token that matches has the job's own numbers, another may have any
            check_token(token)
        return facts, verdict

    def refuse(self, facts: Facts, token: Token, worker: str | None, verdict: Verdict) -> Answer:
        """The answer to a refused write, which leaves a row of history."""
        self.tx.refuse(facts, token.cursor, token.generation, worker, f"{self.tx.verb}: {verdict}")
        return refusal(facts, token, verdict)


def _has_integers(token: Token) -> bool:
    return type(token.generation) is type(token.cursor) is type(token.binding_revision) is int


def check_token(token: Token) -> None:
    """`InvalidValue` for what no claim can have handed out."""
    check_name(token.job, "token.job")
    check_name(token.digest, "token.digest")
    for field in ("binding_revision", "generation", "cursor"):
        check_integer(getattr(token, field), f"token.{field}")


def refusal(facts: Facts, token: Token, verdict: Verdict) -> Answer:
    """`stale` or `expired` with its cause."""
    if verdict == Verdict.EXPIRED:
        return Answer(verdict, cause=f"the lease ended at {facts.lease}", lease_until=facts.lease)
    cause = (
        f"the job is at generation {facts.generation}, cursor {facts.cursor}, binding revision {facts.binding}; "
        f"the token says {token.generation}, {token.cursor}, {token.binding_revision}"
    )
    return Answer(verdict, cause=cause)


def run_callbacks(
    tx: Transaction, items: Sequence[Callback], apply: Callable[[Facts, Callback], Answer]
) -> list[Answer | ItemError]:
    """fail, release, quarantine: judge each token, apply what may be written, write the jobs back."""
    callbacks = Callbacks(tx, [item.token for item in items])
    answers: list[Answer | ItemError] = []
    changed: dict[int, Facts] = {}
    for item in items:
        try:
            check_reason(item.reason)
            judged = callbacks.judge(item.token, item.worker)
        except InvalidValue as error:
            answers.append(error)
            continue
        if judged is None:
            answers.append(NO_SUCH_JOB)
            continue
        facts, verdict = judged
        if verdict is not None:
            answers.append(callbacks.refuse(facts, item.token, item.worker, verdict))
            continue
        try:
            answers.append(apply(facts, item))
        except InvalidValue as error:
            answers.append(error)
            continue
        facts.lease = None
        facts.worker = None
        facts.since = tx.now
        changed[facts.id] = facts
    tx.put(changed.values())
    tx.flush()
    return answers

"""write: rows of one's own tables and admissions, in one transaction of their own."""

from collections.abc import Sequence

from runtime.protocol.errors import ItemError, NotAdmitted
from runtime.protocol.records import Admission, Answer, Write
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.admit import admit
from runtime.store.verbs.commit_step import run_writes

TAKEN = (Verdict.ACCEPTED, Verdict.REPLAY)


def write(
    tx: Transaction, items: Sequence[tuple[Sequence[Write], Sequence[Admission]]]
) -> list[list[Answer | ItemError]]:
    """The admissions' answers; raises `WriteFailed` or `NotAdmitted`, and the transaction is undone."""
    return [_one(tx, statements, admissions) for statements, admissions in items]


def _one(tx: Transaction, statements: Sequence[Write], admissions: Sequence[Admission]) -> list[Answer | ItemError]:
    run_writes(tx, statements)
    answers = admit(tx, admissions)
    if not all(isinstance(answer, Answer) and answer.verdict in TAKEN for answer in answers):
        raise NotAdmitted(answers)
    return answers

"""migrate: a ready job with no committed step goes over to another definition of its workflow."""

from collections.abc import Sequence

from runtime.protocol.canonical import check_flag, check_integer, check_name
from runtime.protocol.errors import ItemError
from runtime.protocol.lifecycle import Facts, judge_migrate
from runtime.protocol.records import Answer, Migration
from runtime.protocol.verdicts import Verdict
from runtime.store.transaction import Transaction
from runtime.store.verbs.operations import Desk


def migrate(tx: Transaction, items: Sequence[Migration]) -> list[Answer | ItemError]:
    """`migrated`, `stale`, `refused` or `unknown`."""
    desk = Desk(tx, [item.job for item in items], [item.digest for item in items])

    def one(item: Migration, facts: Facts) -> Answer:
        if item.binding_revision != facts.binding:
            cause = f"the job's binding revision is {facts.binding}, not {item.binding_revision}"
            return Answer(Verdict.STALE, cause=cause)
        target = desk.targets.get(item.digest)
        verdict, refused = judge_migrate(facts, desk.source(facts), target, effects_checked=item.effects_checked)
        if refused is None and target is not None:
            desk.rebind(item, facts, target)
        return Answer(verdict, cause=refused, digest=desk.source(facts).digest)

    return desk.run(items, check_migration, one)


def check_migration(item: Migration) -> None:
    """Refuse what no revision, digest or flag can be."""
    check_integer(item.binding_revision, "binding_revision")
    check_name(item.digest, "digest")
    check_flag(item.effects_checked, "effects_checked")

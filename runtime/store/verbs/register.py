"""register: manifests become definitions; no verb ever alters one."""

import json
from collections.abc import Sequence

from runtime.protocol.errors import InvalidValue, ItemError, RegistryDamaged
from runtime.protocol.manifest import Manifest, manifest_from
from runtime.protocol.records import Answer
from runtime.protocol.verdicts import OnLapse, Verdict
from runtime.store.transaction import Transaction


def register(tx: Transaction, items: Sequence[Manifest]) -> list[Answer | ItemError]:
    """`registered` or `known`, with the digest; `RegistryDamaged` if the stored bytes are not the manifest's."""
    checked = [_checked(item) for item in items]
    digests = [manifest.digest for manifest in checked if isinstance(manifest, Manifest)]
    known: dict[str, bytes] = {
        row[0]: row[1] for row in tx.rows("register.known", {"digests": json.dumps(digests)})
    }
    answers: list[Answer | ItemError] = []
    new: list[Manifest] = []
    for manifest in checked:
        if isinstance(manifest, ItemError):
            answers.append(manifest)
        elif manifest.digest not in known:
            known[manifest.digest] = manifest.canonical
            new.append(manifest)
            answers.append(Answer(Verdict.REGISTERED, digest=manifest.digest))
        elif known[manifest.digest] != manifest.canonical:
            answers.append(RegistryDamaged(manifest.digest))
        else:
            answers.append(Answer(Verdict.KNOWN, digest=manifest.digest))
    if new:
        _insert(tx, new)
    return answers


def _checked(item: object) -> Manifest | InvalidValue:
    try:
        manifest = manifest_from(item)
        manifest.canonical  # noqa: B018  checks it
    except InvalidValue as error:
        return error
    return manifest


def _insert(tx: Transaction, new: Sequence[Manifest]) -> None:
    ((last,),) = tx.rows("register.last")
    numbered = list(enumerate(new, last + 1))
    tx.many(
        "register.definitions",
        [(id, m.digest, m.name, len(m.steps), m.canonical.decode()) for id, m in numbered],  # noqa: A001
    )
    steps = [
        (
            *(id, index, step.name, step.budget, step.base, step.ceiling, step.lease, step.time_limit),
            step.on_lapse == OnLapse.HOLD,
        )
        for id, manifest in numbered  # noqa: A001
        for index, step in enumerate(manifest.steps)
    ]
    tx.many("register.steps", steps)

"""A3: a row of the registry is changed behind the store's back."""

import sqlite3
from contextlib import closing
from pathlib import Path

from runtime.protocol.errors import RegistryDamaged
from runtime.protocol.records import Commit
from runtime.store.store import Store
from tests.audit.ledger import BOTH, UNITS, V1, V2, Broken, value


async def damage(path: Path) -> int:
    """The damaged definition is refused before any effect, its neighbour in the batch commits; how often refused."""
    async with await Store.open(path, clock="logical", store_id="audit") as store:
        for manifest in (V1, V2):
            await store.register(manifest, now=0)
        await store.switch(V1.digest, 0, now=0)
        await store.admit("points", "old", {"units": UNITS}, now=0)
        await store.switch(V2.digest, 1, now=0)
        await store.admit("points", "new", {"units": UNITS}, now=0)
        tokens = {claim.token.job: claim.token for claim in (await store.claim(2, BOTH, now=0)).claims}
        _edit(path)
        before = (await store.job("old"), await store.effects("old"), await store.history("old"))
        commits = [Commit(tokens[name], value(tokens[name].digest, 0), BOTH) for name in ("old", "new")]
        answers = await store.commit_step_many(commits, now=0)
        if not isinstance(answers[0], RegistryDamaged):
            raise Broken(f"a damaged definition is an error of that commit: {answers[0]}")
        if isinstance(answers[1], Exception) or answers[1].verdict != "advanced":
            raise Broken(f"its neighbour in the batch commits: {answers[1]}")
        if (await store.job("old"), await store.effects("old"), await store.history("old")) != before:
            raise Broken("nothing of the refused commit is written")
        again = (await store.register_many([V1], now=0))[0]
        if not isinstance(again, RegistryDamaged):
            raise Broken(f"registering over a damaged row is an error: {again}")
    return 2


def _edit(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(
            "update keepstep_definition set manifest = replace(manifest, '\"flat\":1', '\"flat\":9') where digest = ?",
            (V1.digest,),
        )

"""A child that works through a store while the shim records.

python -m tests.powerloss.child PATH LOG DURABILITY ROUNDS

What was answered is put into the same log, behind the writes that came before the answer.
"""

import os
import sys
from pathlib import Path

import anyio

from demos.scenarios.cases import V1, WORKER
from demos.scenarios.world import STORE_ID
from runtime.protocol.records import Admission, Answer, Commit
from runtime.store import log
from runtime.store.store import Store
from tests.powerloss.log import Answered, put_answer
from tests.powerloss.shim import Mode, Shim

EACH_ROUND = 4
CHECKPOINT_EVERY = 5


def value(job: str, step: int) -> str:
    """A value that tells where it belongs, long enough to need pages of its own now and then."""
    return f"{job}/{step} " + "x" * (37 * (step + 1) * len(job) ** 2 % 900)


async def work(path: Path, written: int, durability: str, rounds: int) -> None:
    """Rounds of admissions, claims and commits; now and then a checkpoint. The write-ahead file is held so small that
    it is laid out and begun anew several times."""
    log.LITTLE_BYTES, log.ORDINARY_BYTES = 10_000, 200_000
    async with await Store.open(path, clock="logical", store_id=STORE_ID, durability=durability) as store:
        await store.register(V1, now=0)
        await store.switch(V1.digest, 0, now=0)
        for number in range(1, rounds + 1):
            await admitted(store, written, number)
            while await committed(store, written, number):
                pass
            if number % CHECKPOINT_EVERY == 0:
                await store.checkpoint()


async def admitted(store: Store, written: int, number: int) -> None:
    """A batch of admissions, then a single one."""
    names = [f"job-{number}-{place}" for place in range(EACH_ROUND)]
    items = [Admission("points", name, {"units": number}, f"flow-{place % 3}") for place, name in enumerate(names)]
    for batch in (items[:-1], items[-1:]):
        answers = await store.admit_many(batch, now=number)
        assert all(isinstance(answer, Answer) and answer.verdict == "accepted" for answer in answers), answers
        put_answer(written, Answered(jobs=[item.id for item in batch]))


async def committed(store: Store, written: int, number: int) -> bool:
    """What can be claimed is claimed and committed."""
    claims = (await store.claim(2, WORKER, now=number)).claims
    if claims:
        tokens = [claim.token for claim in claims]
        items = [Commit(token, value(token.job, token.cursor), WORKER) for token in tokens]
        answers = await store.commit_step_many(items, now=number)
        assert all(isinstance(answer, Answer) and answer.verdict in ("advanced", "done") for answer in answers), answers
        put_answer(written, Answered(effects=[(token.job, token.cursor) for token in tokens]))
    return bool(claims)


if __name__ == "__main__":
    place, recording, level, count = sys.argv[1:]
    descriptor = os.open(recording, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    Shim().arm(Path(place), Mode.RECORD, log=descriptor)
    anyio.run(work, Path(place), descriptor, level, int(count))

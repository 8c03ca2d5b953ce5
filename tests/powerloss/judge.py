"""Opens what a power loss left: it must be a whole store with everything that was answered."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from demos.scenarios.cases import V1
from demos.scenarios.world import STORE_ID
from runtime.protocol.errors import KeepstepError
from runtime.protocol.records import Admission, Answer
from runtime.store.store import Store
from tests.crash.invariants import check
from tests.powerloss.child import value
from tests.powerloss.log import Answered

ROWS = "select j.key, e.step, e.value from keepstep_job j left join keepstep_effect e on e.job = j.id"


class Found(NamedTuple):
    """Answered jobs and steps that are not there, and what else is wrong."""

    lost: list[str]
    broken: list[str]


def put(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The files of a disk in an empty folder."""
    for path in folder.iterdir():
        path.unlink()
    path = folder / "store.db"
    for suffix, content in files.items():
        file = path.with_name(path.name + suffix)
        file.touch(0o600)
        file.write_bytes(content)
    return path


async def judged(path: Path, answered: Answered) -> Found:
    """Open it afresh, look, and ask again for everything that was answered."""
    try:
        async with await Store.open(path, clock="logical", store_id=STORE_ID) as store:
            broken = check(path)
            lost, wrong = compare(path, answered)
            if not lost:
                broken += await asked_again(store, answered)
    except (KeepstepError, sqlite3.Error) as error:
        return Found([], [f"it cannot be used: {type(error).__name__}: {error}"])
    return Found(lost, broken + wrong)


def compare(path: Path, answered: Answered) -> tuple[list[str], list[str]]:
    """What was answered and is not there; what is there with another value than was handed over."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as raw:
        rows = raw.execute(ROWS).fetchall()
    jobs = {row[0] for row in rows}
    effects = {(key, step): text for key, step, text in rows if step is not None}
    lost = [f"job {job}" for job in answered.jobs if job not in jobs]
    lost += [f"step {step} of {job}" for job, step in answered.effects if (job, step) not in effects]
    wrong = [
        f"step {step} of {job} has another value"
        for (job, step), text in effects.items()
        if text != f'"{value(job, step)}"'
    ]
    return lost, wrong


async def asked_again(store: Store, answered: Answered) -> list[str]:
    """The answered identities once more: each is known."""
    if not answered.jobs:
        await store.register(V1)
        return []
    items = [
        Admission("points", job, {"units": int(job.split("-")[1])}, f"flow-{int(job.split('-')[2]) % 3}")
        for job in answered.jobs[-8:]
    ]
    answers = await store.admit_many(items)
    told = [answer.verdict if isinstance(answer, Answer) else repr(answer) for answer in answers]
    return [f"{item.id} asked for again: {word}" for item, word in zip(items, told, strict=True) if word != "replay"]

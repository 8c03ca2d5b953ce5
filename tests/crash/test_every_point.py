"""Every write verb is killed at every one of its points: before the commit nothing has changed, after it all has."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from demos.scenarios import gate
from demos.scenarios.cases import CASES, ONE, V1, V2, Arguments, Case
from demos.scenarios.stage import tables
from demos.scenarios.world import STORE_ID
from runtime.protocol.records import Answer, Claims
from runtime.store import points
from runtime.store.store import Store
from tests.crash.invariants import check

AT_ONCE = 2
OWN_TABLES = (
    "select name from sqlite_schema where type = 'table' and name not like 'keepstep%' and name not like 'sqlite%'"
)


class Rehearsal(NamedTuple):
    """What a case does when nothing ends it: the points it reaches, and the file before and after it."""

    case: Case
    base: Path
    arguments: Arguments
    reached: list[str]
    before: Any
    after: Any


async def opened(path: Path) -> Store:
    """The store on a fresh connection."""
    return await Store.open(path, clock="logical", store_id=STORE_ID)


async def look(path: Path) -> Any:
    """The whole file, read on a fresh connection."""
    async with await opened(path) as store:
        found = tables(await store.dump())
        for (name,) in await store.query(OWN_TABLES):
            found[name] = await store.query(f"select * from {name}")
        return found


async def word(store: Store, verb: str, arguments: Arguments) -> str:
    """The call's answer as one word."""
    answer = await getattr(store, verb)(**arguments)
    if isinstance(answer, list):
        (answer,) = answer
    if isinstance(answer, Answer):
        return str(answer.verdict)
    return f"{len(answer.claims)} claimed" if isinstance(answer, Claims) else str(answer)


def emptied(folder: Path) -> Path:
    """A new folder."""
    folder.mkdir()
    return folder


def copied(base: Path, name: str) -> Path:
    """A copy of a closed store."""
    folder = emptied(base.parent / name)
    for file in (base, base.with_name(f"{base.name}-wal")):
        if file.exists():
            shutil.copy(file, folder / file.name)
    return folder / base.name


async def rehearsed(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    """The case made ready, and run once to its end."""
    base = emptied(folder) / "queue.db"
    async with await opened(base) as store:
        await store.register_many([V1, V2, ONE], now=0)
        for manifest in (V1, ONE):
            await store.switch(manifest.digest, 0, now=0)
        arguments = await case.prepare(store)
    reached: list[str] = []
    path = copied(base, "rehearsal")
    with monkeypatch.context() as patch:
        async with await opened(path) as store:
            patch.setattr(points, "reach", reached.append)
            assert await word(store, case.verb, arguments) == case.first
    assert check(path) == []
    return Rehearsal(case, base, arguments, list(dict.fromkeys(reached)), await look(base), await look(path))


async def killed(rehearsal: Rehearsal, point: str) -> None:
    """One child ends at the point; what it left, and what the same call then answers."""
    case, arguments = rehearsal.case, rehearsal.arguments
    path = copied(rehearsal.base, point)
    assert await gate.crash(path, point, case.verb, **arguments) == 73, f"{point} was not reached in a child"
    assert check(path) == [], point
    committed = point.endswith(".after_commit")
    assert await look(path) == (rehearsal.after if committed else rehearsal.before), point
    async with await opened(path) as store:
        assert await word(store, case.verb, arguments) == (case.again if committed else case.first), point
    assert check(path) == [], f"{point}, repeated"
    if not committed:
        assert await look(path) == rehearsal.after, f"{point}, repeated"


def assigned(rehearsals: list[Rehearsal]) -> list[tuple[Rehearsal, str]]:
    """Each point with the first case that reaches it; every case is killed after its commit."""
    found: dict[str, tuple[Rehearsal, str]] = {}
    for number, rehearsal in enumerate(rehearsals):
        for point in rehearsal.reached:
            key = f"{number} {point}" if point.endswith(".after_commit") else point
            found.setdefault(key, (rehearsal, point))
    return list(found.values())


async def at_most(count: int, calls: list[Callable[[], Any]]) -> None:
    """Make all calls, so many at a time."""
    limiter = anyio.CapacityLimiter(count)

    async def limited(call: Callable[[], Any]) -> None:
        async with limiter:
            await call()

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(limited, call)


@pytest.mark.parametrize("verb", sorted({case.verb for case in CASES}))
async def test_a_verb_killed_at_each_of_its_points_leaves_all_or_nothing(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [case for case in CASES if case.verb == verb]
    rehearsals = [await rehearsed(case, tmp_path / str(number), monkeypatch) for number, case in enumerate(cases)]
    kills = assigned(rehearsals)
    missed = {name for name in points.names() if name.startswith(f"{verb}.")} - {point for _, point in kills}
    assert not missed, f"named points that no case of {verb} reaches: {sorted(missed)}"
    await at_most(AT_ONCE, [partial(killed, rehearsal, point) for rehearsal, point in kills])


def test_every_named_point_belongs_to_a_verb_that_is_killed() -> None:
    killed_verbs = {case.verb for case in CASES} | {"receive"}
    orphans = [name for name in points.names() if name.partition(".")[0] not in killed_verbs]
    assert not orphans, f"points that nothing ever kills: {orphans}"

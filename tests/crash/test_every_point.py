"""Every write verb is killed at every one of its points: before the commit nothing has changed, after it all has."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from demos.scenarios.cases import ONE, UNITS, WORKER, Arguments
from demos.scenarios.scenes import SCENES, Scene
from runtime.store import points
from runtime.store.store import Store
from runtime.store.verbs import VERBS
from tests.crash.invariants import check, check_inbox

AT_ONCE = 2
CHECKS = {"receive": check_inbox, "set_max_delta": check_inbox, "upgrade_inbox": check_inbox}


class Rehearsal(NamedTuple):
    """What a scene does when nothing ends it: the points it reaches, and the file before and after it."""

    scene: Scene
    base: Path
    arguments: Arguments
    reached: list[str]
    before: Any
    after: Any

    def copied(self, name: str) -> Path:
        """A copy of the folder as it was before."""
        return Path(shutil.copytree(self.base, self.base.with_name(f"{self.base.name} {name}")))

    async def seen(self, folder: Path) -> Any:
        """The whole file, read on a fresh connection; what is in it holds together."""
        scene = self.scene
        found = await scene.look(folder / scene.file)
        assert not found or CHECKS.get(scene.verb, check)(folder / scene.file) == []
        return found


def emptied(folder: Path) -> Path:
    """A new folder."""
    folder.mkdir()
    return folder


async def rehearsed(scene: Scene, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    """The scene made ready, and played once to its end."""
    base = emptied(folder)
    arguments = await scene.prepare(base)
    made = Rehearsal(scene, base, arguments, [], await scene.look(base / scene.file), None)
    copy = made.copied("rehearsal")
    with monkeypatch.context() as patch:
        patch.setattr(points, "reach", points.by_name(made.reached.append))
        assert await scene.call(copy, arguments) == scene.first
    return made._replace(reached=list(dict.fromkeys(made.reached)), after=await made.seen(copy))


async def killed(rehearsal: Rehearsal, point: str) -> None:
    """One child ends at the point; what it left, and what the same call then answers."""
    scene, arguments = rehearsal.scene, rehearsal.arguments
    folder = rehearsal.copied(point)
    assert await scene.crash(folder, point, arguments) == 73, f"{point} was not reached in a child"
    committed = point.endswith(".after_commit")
    assert await rehearsal.seen(folder) == (rehearsal.after if committed else rehearsal.before), point
    assert await scene.call(folder, arguments) == (scene.again if committed else scene.first), point
    again = await rehearsal.seen(folder)
    if not committed:
        assert again == rehearsal.after, f"{point}, repeated"


def assigned(rehearsals: list[Rehearsal]) -> list[tuple[Rehearsal, str]]:
    """Each point with the first scene that reaches it; every scene is killed after its commit."""
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


def of_verb(verb: str) -> set[str]:
    """The named points of a verb."""
    return {name for name in points.names() if name.startswith(f"{verb}.")}


@pytest.mark.parametrize("verb", sorted({scene.verb for scene in SCENES}))
async def test_a_verb_killed_at_each_of_its_points_leaves_all_or_nothing(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes = [scene for scene in SCENES if scene.verb == verb]
    rehearsals = [await rehearsed(scene, tmp_path / str(number), monkeypatch) for number, scene in enumerate(scenes)]
    kills = assigned(rehearsals)
    reached = {point for _, point in kills}
    assert reached - of_verb(verb) == set(), f"points that {verb} comes past and that are named nowhere"
    assert of_verb(verb) - reached == set(), f"named points that no scene of {verb} comes past"
    await at_most(AT_ONCE, [partial(killed, rehearsal, point) for rehearsal, point in kills])


async def test_verbs_that_share_a_transaction_come_past_their_own_points_and_begin_before_its_first_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []
    async with await Store.open(tmp_path / "queue.db", clock="logical") as store:
        await store.register(ONE)
        await store.switch(ONE.digest, 0)
        monkeypatch.setattr(points, "reach", points.by_name(reached.append))
        async with anyio.create_task_group() as group:
            group.start_soon(partial(store.announce, WORKER, host="host", pid=1, started_at_ms=1))
            group.start_soon(store.admit, "note", "job", UNITS)
    assert reached[:2] == ["announce.begin", "admit.begin"]
    assert reached.count("announce.load_control") == reached.count("admit.load_control") == 1
    assert set(reached) - set(points.names()) == set()
    assert reached[-2:] == ["announce.after_commit", "admit.after_commit"]


def test_every_verb_has_points_and_scenes() -> None:
    verbs = {name.partition(".")[0] for name in points.names()}
    assert set(VERBS) - verbs == set()
    assert verbs == {scene.verb for scene in SCENES}

"""register: definitions and their digests (contract §3)."""

import sqlite3
from contextlib import closing

import pytest

from demos.scenarios import definitions, points
from demos.scenarios.points import D1, V1, V2
from demos.scenarios.world import World, words
from runtime.protocol.errors import RegistryDamaged
from runtime.protocol.manifest import Manifest, Step
from tests.conformance.conftest import Saw


async def test_v02_neither_key_order_nor_the_rendering_of_a_number_changes_a_digest(saw: Saw) -> None:
    assert await saw(definitions.v02) == {"same": [True, True]}


async def test_v03_every_part_of_a_manifest_changes_its_digest_and_a_default_spelled_out_does_not(saw: Saw) -> None:
    assert await saw(definitions.v03) == {"different": True, "defaults": True}


async def test_v04_registering_twice_answers_known_and_changes_nothing(saw: Saw) -> None:
    assert await saw(points.v04) == {"words": ["registered", "known"], "digests": [True, True], "unchanged": True}


async def test_v05_what_is_refused_is_named_by_its_place_and_nothing_is_registered(saw: Saw) -> None:
    seen = await saw(definitions.v05)
    places = {label: error.split(": ")[:2] for label, error in seen["errors"].items()}
    step = "manifest.steps[0]"
    assert places == {
        "no steps": ["InvalidValue", "manifest.steps"],
        "unknown field": ["InvalidValue", "manifest.colour"],
        "two of one name": ["InvalidValue", "manifest.steps[1].name"],
        "unknown step field": ["InvalidValue", f"{step}.colour"],
        "budget 0": ["InvalidValue", f"{step}.budget"],
        "lease 0": ["InvalidValue", f"{step}.lease"],
        "ceiling under base": ["InvalidValue", f"{step}.ceiling"],
        "empty step name": ["InvalidValue", f"{step}.name"],
        "step name of 256": ["InvalidValue", f"{step}.name"],
        "infinite number": ["InvalidValue", f"{step}.params.x"],
        "empty name": ["InvalidValue", "manifest.name"],
    }
    assert seen["unchanged"]


async def test_a_batch_registers_what_it_can_and_answers_each_item(here: World) -> None:
    bad = Manifest("points", "x/1", ())
    unsound = Manifest("points", "x/1", (Step("s", "o", budget=0),))
    answers = await here.store.register_many([V1, bad, V1, unsound, V2])
    assert words(answers) == ["registered", "InvalidValue", "known", "InvalidValue", "registered"]
    assert [digest for digest, _ in await here.store.definitions()] == [D1, V2.digest]


async def test_register_works_in_every_mode(here: World) -> None:
    await here.store.transition("drain", 0)
    await here.store.transition("pause", 1)
    assert words(await here.store.register_many([V1])) == ["registered"]


@pytest.mark.parametrize("stands", ["'no JSON'", "'{}'", "cast(x'ff' as text)"])
async def test_a_row_that_is_no_manifest_any_more_is_named_when_definitions_are_read(here: World, stands: str) -> None:
    await here.store.register(V1)
    with closing(sqlite3.connect(here.store.path)) as other, other:
        other.execute("update keepstep_definition set manifest = " + stands)
    with pytest.raises(RegistryDamaged, match=D1):
        await here.store.definitions()

"""Document 15, versioned definitions: what a digest is, and what register refuses."""

from typing import Any

import msgspec

from demos.scenarios.points import D1, V1
from demos.scenarios.world import Facts, World, plain
from runtime.protocol.manifest import manifest_from
from runtime.protocol.records import Answer


async def v02(here: World) -> Facts:
    """Neither the order of keys nor the rendering of a number changes a digest."""
    data = plain(V1)
    backwards = {key: data[key] for key in reversed(data)}
    backwards["steps"] = [{key: one[key] for key in reversed(one)} for one in data["steps"]]
    rendered = plain(V1)
    rendered["steps"][0]["params"] = {"per_unit": 1.0}
    return {"same": [manifest_from(backwards).digest == D1, manifest_from(rendered).digest == D1]}


async def v03(here: World) -> Facts:
    """Every part of a manifest changes its digest; a default spelled out does not."""
    one, two = V1.steps
    replace = msgspec.structs.replace
    others = {
        "steps swapped": replace(V1, steps=(two, one)),
        "another parameter": replace(V1, steps=(replace(one, params={"per_unit": 2}), two)),
        "another step name": replace(V1, steps=(replace(one, name="basis"), two)),
        "another policy": replace(V1, steps=(replace(one, budget=4), two)),
        "another abi": replace(V1, abi="local-ledger/2"),
    }
    bare = {"name": "w", "abi": "x/1", "steps": [{"name": "s", "op": "o"}]}
    spelled = {**bare, "format": 1, "steps": [{"name": "s", "op": "o", "params": {}, "budget": 3, "on_lapse": "retry"}]}
    digests = {manifest.digest for manifest in others.values()}
    return {
        "different": len(digests | {D1}) == len(others) + 1,
        "defaults": manifest_from(bare).digest == manifest_from(spelled).digest,
    }


async def v05(here: World) -> Facts:
    """What register refuses, with the place named."""
    before = await here.photo()
    good: dict[str, Any] = {"name": "w", "abi": "x/1", "steps": [{"name": "s", "op": "o"}]}
    bad: dict[str, dict[str, Any]] = {"no steps": {**good, "steps": []}, "unknown field": {**good, "colour": 1}}
    bad["two of one name"] = {**good, "steps": good["steps"] * 2}
    fields: dict[str, dict[str, Any]] = {
        "unknown step field": {"colour": 1},
        "budget 0": {"budget": 0},
        "lease 0": {"lease": 0},
        "ceiling under base": {"base": 9, "ceiling": 8},
        "empty step name": {"name": ""},
        "step name of 256": {"name": "x" * 256},
        "infinite number": {"params": {"x": float("inf")}},
    }
    for label, field in fields.items():
        bad[label] = {**good, "steps": [{"name": "s", "op": "o", **field}]}
    bad["empty name"] = {**good, "name": ""}

    async def register(value: dict[str, Any]) -> Answer:
        return await here.store.register(manifest_from(value))

    errors = {label: await here.error(register(value)) for label, value in bad.items()}
    return {"errors": errors, "unchanged": await here.photo() == before}

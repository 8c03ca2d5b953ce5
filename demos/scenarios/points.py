"""Document 15, versioned definitions: routes, bindings, abilities. Each scenario returns what it saw as plain data."""

from typing import Any

import msgspec

from demos.scenarios.world import Facts, World, step, word
from runtime.protocol.canonical import decode
from runtime.protocol.errors import InvalidValue
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Answer, Claim, Worker
from runtime.protocol.verdicts import OnLapse


def points(on_lapse: OnLapse) -> tuple[Manifest, Manifest]:
    """V1: base, then a bonus of 1. V2: a bonus of 3, then base."""
    base = step("base", "credit", on_lapse, params={"per_unit": 1})
    small = step("bonus", "credit", on_lapse, params={"flat": 1})
    large = step("bonus", "credit", on_lapse, params={"flat": 3})
    return Manifest("points", "local-ledger/1", (base, small)), Manifest("points", "local-ledger/1", (large, base))


V1, V2 = points(OnLapse.HOLD)
D1, D2 = V1.digest, V2.digest
ONLY_V1 = Worker.declaring("old", V1)
ONLY_V2 = Worker.declaring("new", V2)
BOTH = Worker.declaring("both", V1, V2)
UNITS = {"units": 10}


def credit(units: int, manifest: Manifest, index: int) -> int:
    """What a step of a manifest adds."""
    params = manifest.steps[index].params
    return int(units * params.get("per_unit", 0) + params.get("flat", 0))


def check_units(payload: object) -> None:
    """A points payload is units, an integer from 1, and nothing else."""
    if not isinstance(payload, dict) or "units" not in payload:
        raise InvalidValue("payload.units", "is missing; an integer from 1 is expected")
    if len(payload) > 1:
        raise InvalidValue("payload", "a field beside units is not known")
    if type(payload["units"]) is not int or payload["units"] < 1:
        raise InvalidValue("payload.units", "an integer from 1 is expected")


async def admit(here: World, name: str, payload: Any = UNITS) -> Answer:
    """Admit a points job as an app does: the payload is checked first."""
    check_units(payload)
    return await here.store.admit("points", name, payload)


async def define(here: World) -> None:
    """Both definitions registered, V1 at route revision 1."""
    await here.define(V1, V2)


async def run_step(here: World, worker: Worker, claim: Claim | None = None) -> list[Any] | None:
    """Claim if need be, then commit one step: job, step name, value, word; None for an empty claim."""
    claim = claim or await here.claim(worker)
    if claim is None:
        return None
    manifest = worker.manifests[claim.token.digest]
    value = credit(decode(claim.payload)["units"], manifest, claim.token.cursor)
    said = await here.commit(claim, worker, value)
    return [claim.token.job, manifest.steps[claim.token.cursor].name, value, said]


async def run_until_idle(here: World, worker: Worker) -> list[list[Any]]:
    """Every step that this worker can run."""
    steps = []
    while (seen := await run_step(here, worker)) is not None:
        steps.append(seen)
    return steps


async def total(here: World, name: str) -> int:
    """What a job's effects add up to."""
    return sum(value for *_, value in await here.effects(name))


async def unfinished(here: World) -> dict[str, int]:
    """Unfinished jobs per definition, by the names V1 and V2."""
    names = {D1: "V1", D2: "V2"}
    return {names[digest]: n for digest, n in (await here.store.snapshot()).unfinished_by_definition.items()}


async def v01(here: World) -> Facts:
    """V1 is 11, V2 is 13, and V1's first step followed by V2's second is the wrong 20."""
    computed = {
        "V1": [credit(10, V1, index) for index in (0, 1)],
        "V2": [credit(10, V2, index) for index in (0, 1)],
        "V1 then V2": [credit(10, V1, 0), credit(10, V2, 1)],
    }
    await define(here)
    await admit(here, "old")
    await run_step(here, BOTH)
    await here.store.switch(D2, 1)
    steps = await run_until_idle(here, BOTH)
    return {"computed": computed, "steps after the switch": steps, "store": await total(here, "old")}


async def v04(here: World) -> Facts:
    """Registering twice changes nothing."""
    first = await here.store.register(V1)
    before = await here.photo()
    second = await here.store.register(V1)
    return {
        "words": [word(first), word(second)],
        "digests": [first.digest == D1, second.digest == D1],
        "unchanged": await here.photo() == before,
    }


async def v06(here: World) -> Facts:
    """A late switch of an earlier revision is stale."""
    await here.store.register_many([V1, V2])
    moves = [(D1, 0), (D2, 1), (D1, 2), (D2, 1)]
    answers = [await here.store.switch(digest, revision) for digest, revision in moves]
    missing = await here.store.switch("0" * 64, 3)
    (route,) = (await here.store.snapshot()).routes
    return {
        "told": [[word(answer), answer.revision] for answer in answers],
        "unregistered": [word(missing), bool(missing.cause)],
        "route": ["V1" if route.digest == D1 else "V2", route.revision],
    }


async def v07(here: World) -> Facts:
    """A switch changes no job."""
    await define(here)
    for name in "abc":
        await admit(here, name)
    await run_step(here, BOTH)
    await here.take(BOTH)
    before = (await here.tables())["keepstep_job"]
    await here.store.switch(D2, 1)
    return {"unchanged": (await here.tables())["keepstep_job"] == before, "jobs": len(before)}


async def v08(here: World) -> Facts:
    """A job is bound when it is admitted; a replay never binds again."""
    await define(here)
    await admit(here, "old")
    bound = await here.job("old")
    await here.store.switch(D2, 1)
    again = await admit(here, "old")
    await admit(here, "new")
    return {
        "old": [bound.accepted_digest == D1, bound.current_digest == D1, bound.binding_revision, bound.cursor],
        "generation": bound.generation,
        "again": [word(again), again.record is not None and again.record.current_digest == D1],
        "new on V2": (await here.job("new")).current_digest == D2,
    }


async def v09(here: World) -> Facts:
    """Other units under a known id."""
    await define(here)
    await admit(here, "old")
    before = await here.photo()
    answer = await admit(here, "old", {"units": 11})
    return {"told": [word(answer), answer.field], "unchanged": await here.photo() == before}


async def v10(here: World) -> Facts:
    """What the workflow or the contract refuses is an error that names the place and leaves nothing."""
    await define(here)
    before = await here.photo()
    payloads = [{"units": bad} for bad in (0, -1, 1.5, True, "10")] + [{}, {"units": 10, "more": 1}]
    errors = [await here.error(admit(here, "a", payload)) for payload in payloads]
    store = here.store
    large = [await here.error(store.admit("points", "a", {"text": "x" * 2**20}))]
    large.append(await here.error(store.admit("points", "a", {"units": float("nan")})))
    names = [await here.error(store.admit("points", name, UNITS)) for name in ("", "a\0b", "x" * 256)]
    route = await here.error(store.admit("nowhere", "a", UNITS))
    unchanged = await here.photo() == before
    return {
        "units": errors,
        "values": large,
        "ids": names,
        "route": route,
        "unchanged": unchanged,
        "then": word(await admit(here, "a")),
    }


async def v11(here: World) -> Facts:
    """A worker gets what it declares and nothing else."""
    await define(here)
    await admit(here, "old")
    await here.store.switch(D2, 1)
    await admit(here, "new")
    nothing = await here.name_of_next(Worker.declaring("none"))
    return {"nothing declared": nothing, "V2 only": [await here.name_of_next(ONLY_V2) for _ in range(2)]}


async def v12(here: World) -> Facts:
    """Every part of a token counts; a worker that does not declare the digest may not commit."""
    await define(here)
    await admit(here, "old")
    await admit(here, "other")
    token = (await here.take(ONLY_V1)).token
    before = await here.photo()
    changes: dict[str, Any] = {"job": "other", "binding_revision": 1, "generation": 2, "cursor": 1, "digest": D2}
    found = {
        part: await here.commit(msgspec.structs.replace(token, **{part: value}), BOTH, 10)
        for part, value in changes.items()
    }
    undeclared = await here.error(here.store.commit_step(token, 10, worker=ONLY_V2))
    unchanged = await here.photo() == before
    return {
        "changed": found,
        "undeclared": undeclared,
        "unchanged": unchanged,
        "right": await here.commit(token, ONLY_V1, 10),
    }


async def v13(here: World) -> Facts:
    """Between two steps a job is ready, and another worker may claim it."""
    await define(here)
    await admit(here, "old")
    first = await run_step(here, ONLY_V1)
    between = await here.fields("old", "state", "cursor")
    second = await run_step(here, BOTH)
    rows = await here.store.effects("old")
    return {
        "first": first,
        "between": between,
        "second": second,
        "end": await here.fields("old", "state", "cursor"),
        "effects": [[row.step, row.name, row.digest == D1, row.value, row.worker] for row in rows],
    }


async def v14(here: World) -> Facts:
    """The life cycle: what V2-only workers leave is told, and V1's worker finishes it."""
    await define(here)
    await admit(here, "old")
    await here.store.switch(D2, 1)
    await admit(here, "new")
    new = await run_until_idle(here, ONLY_V2)
    left = [await unfinished(here)]
    claim = await here.take(ONLY_V1)
    left.append(await unfinished(here))
    await here.store.quarantine(claim.token, "unsure")
    left.append(await unfinished(here))
    await here.store.redrive("old", 1, "looked")
    old = await run_until_idle(here, ONLY_V1)
    return {
        "new": new,
        "unfinished": left,
        "old": old,
        "at the end": await unfinished(here),
        "totals": [await total(here, "old"), await total(here, "new")],
    }

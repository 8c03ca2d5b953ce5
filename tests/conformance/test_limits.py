"""Values and limits: what is no value is an item's own error, which names the place (contract §13)."""

from typing import Any

import pytest

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, word, words
from runtime.protocol.records import Admission, Callback, Commit, Migration, Operation, Renewal, Token, Worker

NAMES = {"empty": "", "too long": "x" * 256, "NUL": "a\0", "no text": "\ud800", "a number": 7, "none": None}
NUMBERS = {"negative": -1, "true": True, "text": "1", "a fraction": 1.5, "none": None, "too large": 2**53}


PLACES = [(place, kind) for place in ("workflow", "id", "flow") for kind in NAMES if (place, kind) != ("flow", "none")]


@pytest.mark.parametrize(("place", "kind"), PLACES)
async def test_a_name_of_an_admission_is_1_to_255_characters_of_text(here: World, place: str, kind: str) -> None:
    bad: Any = NAMES[kind]
    await here.define(RELAY)
    fields = {"workflow": "relay", "id": "a1", "payload": 1, "flow": "a", place: bad}
    assert (await here.error(here.store.admit(**fields))).startswith(f"InvalidValue: {place}: ")


async def test_names_of_255_characters_are_taken_and_compared_byte_for_byte(here: World) -> None:
    await here.define(RELAY)
    composed, decomposed = "é", "e\N{COMBINING ACUTE ACCENT}"
    for name in ("x" * 255, "é" * 255, composed, decomposed, "A", "a", " a"):
        assert word(await here.store.admit("relay", name, 1, flow=name)) == "accepted"


PAYLOADS = {
    "infinity": float("inf"),
    "integer": 2**53,
    "surrogate": "\ud800",
    "bytes": b"x",
    "key": {1: 1},
    "set": {1},
}


@pytest.mark.parametrize("kind", PAYLOADS)
async def test_a_payload_that_is_not_json_names_the_place_of_what_is_wrong(here: World, kind: str) -> None:
    bad: Any = PAYLOADS[kind]
    await here.define(RELAY)
    error = await here.error(here.store.admit("relay", "a1", {"deep": [1, bad]}, flow="a"))
    assert error.startswith("InvalidValue: payload.deep[1]")


async def test_a_payload_is_at_most_a_mebibyte_and_64_deep(here: World) -> None:
    await here.define(RELAY)

    def nested(depth: int) -> Any:
        return [nested(depth - 1)] if depth else 1

    for name, payload in {"a": "x" * (2**20 - 2), "b": nested(64)}.items():
        assert word(await here.store.admit("relay", name, payload)) == "accepted"
    for name, payload in {"c": "x" * (2**20 - 1), "d": nested(65)}.items():
        assert (await here.error(here.store.admit("relay", name, payload))).startswith("InvalidValue: payload")


async def test_the_largest_integers_and_the_same_number_in_two_renderings(here: World) -> None:
    await here.define(RELAY)
    assert word(await here.store.admit("relay", "a", [2**53 - 1, -(2**53) + 1])) == "accepted"
    assert word(await here.store.admit("relay", "b", 1)) == "accepted"
    assert word(await here.store.admit("relay", "b", 1.0)) == "replay"


@pytest.mark.parametrize("kind", NUMBERS)
async def test_a_number_of_the_wrong_type_is_its_items_error_in_every_batch(here: World, kind: str) -> None:
    bad: Any = NUMBERS[kind]
    await here.define(RELAY)
    for name in ("a1", "b1"):
        await here.event(name)
    good = (await here.take(W1)).token
    digest = RELAY.digest
    tokens = [Token("a1", bad, 1, 0, digest), Token("a1", 0, bad, 0, digest), Token("a1", 0, 1, bad, digest)]
    store = here.store
    wrong = ["InvalidValue"] * 3
    assert words(await store.renew_many([*map(Renewal, tokens), Renewal(good)])) == [*wrong, "renewed"]
    failures = [Callback(token, "why") for token in (*tokens, good)]
    for batch in (store.fail_many, store.release_many, store.quarantine_many):
        assert words(await batch(failures[:3])) == wrong
    commits = [Commit(token, None, W1) for token in (*tokens, good)]
    assert words(await store.commit_step_many(commits)) == [*wrong, "done"]
    operations = [Operation("b1", bad, "why"), Operation("b1", 0, "why")]
    assert words(await store.redrive_many(operations)) == ["InvalidValue", "refused"]
    assert words(await store.recover_many(operations)) == ["InvalidValue", "refused"]
    assert words(await store.quarantine_job_many(operations)) == ["InvalidValue", "quarantined"]
    migrations = [Migration("b1", bad, digest, "why"), Migration("b1", 0, digest, "why")]
    assert words(await store.migrate_many(migrations)) == ["InvalidValue", "refused"]
    assert (await here.error(store.claim(bad, W1))).startswith("InvalidValue: limit")
    assert (await here.error(store.switch(digest, bad))).startswith("InvalidValue: expected_revision")


@pytest.mark.parametrize("bad", [True, "9", 1.5], ids=str)
async def test_a_tick_of_the_wrong_type_is_an_error_and_changes_nothing(here: World, bad: Any) -> None:
    await here.define(RELAY)
    before = await here.tables()
    assert (await here.error(here.store.admit("relay", "a1", 1, now=bad))).startswith("InvalidValue: now")
    assert await here.tables() == before


@pytest.mark.parametrize("bad", [1, "yes", None], ids=str)
async def test_a_flag_of_the_wrong_type_is_an_error(here: World, bad: Any) -> None:
    await here.define(RELAY)
    await here.event("a1")
    store = here.store
    errors = [
        await here.error(store.migrate("a1", 0, RELAY.digest, "why", effects_checked=bad)),
        await here.error(store.redrive("a1", 0, "why", effects_checked=bad)),
        await here.error(store.transition("drain", 0, pause_when_empty=bad)),
    ]
    assert [error.partition(":")[0] for error in errors] == ["InvalidValue"] * 3


@pytest.mark.parametrize("kind", NAMES)
async def test_a_workers_id_is_a_name(here: World, kind: str) -> None:
    bad: Any = NAMES[kind]
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1)).token
    worker = Worker(bad, W1.manifests)
    assert (await here.error(here.store.claim(1, worker))).startswith("InvalidValue: worker")
    told = [
        await here.error(here.store.announce(worker, host="here", pid=1, started_at_ms=0)),
        await here.error(here.store.withdraw(bad)),
    ]
    assert [error[:20] for error in told] == ["InvalidValue: worker"] * 2
    assert await here.store.workers() == ()
    if bad is not None:
        assert (await here.error(here.store.fail(token, "why", worker=bad))).startswith("InvalidValue: worker")
        assert (await here.error(here.store.renew(token, worker=bad))).startswith("InvalidValue: worker")
    assert (await here.error(here.store.commit_step(token, 1, worker=worker))).startswith("InvalidValue: worker")


@pytest.mark.parametrize("kind", NAMES)
async def test_a_command_id_and_an_operators_subject_are_names(here: World, kind: str) -> None:
    bad: Any = NAMES[kind]
    store = here.store
    if bad is not None:
        error = await here.error(store.transition("drain", 0, command_id=bad))
        assert error.startswith("InvalidValue: command_id")
    assert (await here.error(store.redrive(bad, 0, "why"))).startswith("InvalidValue: job")
    assert (await here.error(store.migrate("a1", 0, bad, "why"))).startswith("InvalidValue: digest")


@pytest.mark.parametrize("bad", ["", " \t\n", None, 7], ids=repr)
async def test_a_reason_is_text_that_is_not_blank(here: World, bad: Any) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1)).token
    store = here.store
    calls = [
        store.fail(token, bad),
        store.release(token, bad),
        store.quarantine(token, bad),
        store.redrive("a1", 1, bad),
        store.recover("a1", 1, bad),
        store.quarantine_job("a1", 1, bad),
        store.migrate("a1", 0, RELAY.digest, bad),
        store.set("capacity", 1, bad),
    ]
    for call in calls:
        assert (await here.error(call)).startswith("InvalidValue: reason")


async def test_an_operators_long_reason_is_cut_and_marked(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.store.quarantine_job("a1", 0, "é" * 10_000)
    (audit,) = await here.store.audit("a1")
    assert audit.reason is not None
    assert len(audit.reason.encode()) <= 8192
    assert "cut" in audit.reason


async def test_a_width_goes_with_a_flow_and_is_at_least_one(here: World) -> None:
    await here.define(RELAY)
    items = [Admission("relay", "a1", 1, "a", width) for width in (0, -1, True)]
    items.append(Admission("relay", "a1", 1, None, 2))
    assert words(await here.store.admit_many(items)) == ["InvalidValue"] * 4

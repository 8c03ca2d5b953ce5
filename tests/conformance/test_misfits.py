"""What is no item of a verb at all is an error in its place and fails no neighbour (contract §2, §13)."""

from typing import Any, cast

import pytest

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, words
from runtime.protocol.errors import InvalidValue
from runtime.protocol.manifest import Manifest
from runtime.protocol.receive import Delivery, Receipt
from runtime.protocol.records import Admission, Callback, Commit, Migration, Operation, Renewal, Switch, Worker, Write

JUNK: dict[str, Any] = {"nothing": None, "text": "a1", "number": 7, "bytes": b"x", "set": {1}, "object": object()}


@pytest.mark.parametrize("kind", JUNK)
async def test_what_is_no_item_fails_no_neighbour_of_its_batch(here: World, kind: str) -> None:
    bad = JUNK[kind]
    await here.define(RELAY)
    store = here.store
    assert words(await store.admit_many([bad, Admission("relay", "a1", 1), bad])) == [
        *("InvalidValue", "accepted", "InvalidValue"),
    ]
    token = (await here.take(W1)).token
    assert words(await store.renew_many([bad, Renewal(bad), Renewal(token)])) == [*["InvalidValue"] * 2, "renewed"]
    for batch in (store.fail_many, store.release_many, store.quarantine_many):
        assert words(await batch([bad, Callback(bad, "why")])) == ["InvalidValue"] * 2
    commits: list[Any] = [bad, Commit(bad, 1, W1), Commit(token, 1, bad), Commit(token, 1, W1)]
    assert words(await store.commit_step_many(commits)) == [*["InvalidValue"] * 3, "done"]
    for operate in (store.redrive_many, store.recover_many, store.quarantine_job_many):
        assert words(await operate([bad, Operation("a1", 1, "why")])) == ["InvalidValue", "refused"]
    assert words(await store.migrate_many([bad, Migration("a1", 0, RELAY.digest, "why")])) == [
        *("InvalidValue", "refused"),
    ]
    assert words(await store.switch_many([bad, Switch(RELAY.digest, 1)])) == ["InvalidValue", "switched"]


async def test_what_counts_as_a_text_is_one(here: World) -> None:
    class Text(str):
        pass

    await here.define(RELAY)
    batch = [Admission(Text("relay"), Text("a1"), 1, Text("a")), Admission("relay", "a2", 1, "a")]
    assert words(await here.store.admit_many(batch)) == ["accepted", "accepted"]
    assert words(await here.store.admit_many(batch)) == ["replay", "replay"]
    assert words(await here.store.quarantine_job_many([Operation(Text("a1"), 0, "why")])) == ["quarantined"]


@pytest.mark.parametrize("kind", JUNK)
async def test_an_argument_that_is_no_value_fails_no_neighbour_under_a_command_id(here: World, kind: str) -> None:
    bad = JUNK[kind]
    await here.define(RELAY)
    await here.event("a1")
    items = [Operation("a1", bad, "why", command_id="c1"), Operation("a1", 0, "why", command_id="c2")]
    assert words(await here.store.redrive_many(items))[1] == "refused"
    items = [Operation("a1", 0, bad, command_id="c3"), Operation("a1", 0, "why", command_id="c4")]
    assert words(await here.store.recover_many(items))[1] == "refused"
    items = [Operation("b1", 0, "why", command_id=bad), Operation("a1", 0, "why", command_id="c5")]
    assert words(await here.store.quarantine_job_many(items))[1] == "quarantined"


@pytest.mark.parametrize(
    "writes",
    [True, 7, "insert", [("insert into t values (1)", ())], [None], [Write(cast(str, 7))]],
    ids=repr,
)
async def test_what_are_no_writes_is_the_commits_own_error(here: World, writes: Any) -> None:
    await here.define(RELAY)
    for name in ("a1", "b1"):
        await here.event(name)
    first, second = await here.take(W1), await here.take(W1)
    commits = [Commit(first.token, 1, W1, writes), Commit(second.token, 1, W1)]
    assert words(await here.store.commit_step_many(commits)) == ["InvalidValue", "done"]
    with pytest.raises(InvalidValue, match=r"writes: .*Write"):
        await here.store.commit_step(first.token, 1, worker=W1, writes=writes)
    assert await here.effects("a1") == []


@pytest.mark.parametrize("manifests", [None, 7, {RELAY.digest: 7}], ids=repr)
async def test_a_worker_that_declares_no_manifests_gets_an_error_of_its_own(here: World, manifests: Any) -> None:
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1)
    bad = Worker("w9", manifests)
    commits = [Commit(claim.token, 1, bad), Commit(claim.token, 1, W1)]
    assert words(await here.store.commit_step_many(commits)) == ["InvalidValue", "done"]
    with pytest.raises(InvalidValue, match="manifests"):
        await here.store.claim(1, bad)


@pytest.mark.parametrize("steps", [7, (7,), "ab", None], ids=repr)
async def test_a_manifest_of_anything_but_steps_fails_no_neighbour(here: World, steps: Any) -> None:
    answers = await here.store.register_many([Manifest(name="odd", abi="x/1", steps=steps), RELAY])
    assert words(answers) == ["InvalidValue", "registered"]


@pytest.mark.parametrize("kind", JUNK)
async def test_what_is_no_delivery_fails_no_neighbour_of_its_batch(here: World, kind: str) -> None:
    items = [JUNK[kind], Delivery("a1", "a", 1, {"delta": 5}), JUNK[kind]]
    first, second, third = await here.inbox.receive_many(items)
    assert isinstance(first, InvalidValue)
    assert isinstance(third, InvalidValue)
    assert isinstance(second, Receipt)
    assert second.verdict == "accepted"

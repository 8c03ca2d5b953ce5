"""The status as data: one photograph whose numbers agree with each other."""

from control.snapshot import rates, status
from runtime.protocol.records import Admission
from runtime.store.picture import picture
from runtime.store.store import Store
from tests.control.conftest import W1, live


async def test_the_frozen_keys_of_format_1_are_there(store: Store) -> None:
    value = status(await picture(store))
    assert list(value)[:6] == ["format", "taken_at", "mode", "version", "jobs", "file_bytes"]
    assert value["format"] == 1
    assert list(value["jobs"]) == ["ready", "waiting", "inflight", "quarantined", "done"]
    assert value["mode"] == "open"
    assert value["file_bytes"] > 0


async def test_states_flows_and_lists_agree_in_one_picture(store: Store) -> None:
    await store.admit_many([Admission("points", f"{flow}{number}", 1, flow) for flow in "ABC" for number in range(3)])
    await store.admit("points", "alone", 1)
    await store.claim(2, W1, now=1)
    await store.quarantine_job("C0", 0, "look at it", now=1)
    value = status(await picture(store))
    assert value["unfinished"] == 10
    assert sum(count for state, count in value["jobs"].items() if state != "done") == 10
    assert value["unfinished_in_flows"] == {"named": 9, "unnamed": 1}
    assert sum(flow["unfinished"] for flow in value["flows"]) == 9
    assert len(value["inflight"]) == value["jobs"]["inflight"] == 2
    assert [job["reason"] for job in value["quarantined"]] == ["look at it"]


async def test_a_job_at_a_worker_that_is_gone_is_not_shown_as_running(store: Store) -> None:
    await store.admit("points", "a", 1)
    await store.claim(1, W1, now=1)
    await store.set("capacity", None, "moves the clock", now=9)
    (flight,) = status(await picture(store))["inflight"]
    assert (flight["lapsed"], flight["worker_alive"], flight["lease_left"]) == (True, False, -3)


async def test_definitions_say_whether_anybody_live_declares_them(store: Store) -> None:
    await store.admit("points", "a", 1)
    assert [cover["stranded"] for cover in status(await picture(store))["definitions"]] == [True]
    await live(store, W1)
    (cover,) = status(await picture(store))["definitions"]
    assert (cover["stranded"], list(cover["workers"])) == (False, ["W1"])


async def test_rates_come_from_two_pictures(store: Store) -> None:
    before = await picture(store)
    await store.admit_many([Admission("points", f"j{number}", 1) for number in range(4)])
    claims = (await store.claim(2, W1, now=1)).claims
    for claim in claims:
        await store.commit_step(claim.token, 1, worker=W1, now=1)
    moved = rates(before, await picture(store), 2.0)
    assert (moved.accepted, moved.claims, moved.steps, moved.done) == (2.0, 1.0, 1.0, 0.0)

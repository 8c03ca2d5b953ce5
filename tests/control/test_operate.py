"""Operating on many jobs: what is chosen, what a dry run foresees, what is held back."""

from control.find import clock_of, digest_of, route_of
from control.operate import Act, act, foresee, matching, named
from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.control.conftest import V1, V2, W1


async def quarantined(store: Store, *jobs: str) -> None:
    """Jobs that wait for a person."""
    await store.admit_many([Admission("points", job, 1) for job in jobs])
    for job in jobs:
        await store.quarantine_job(job, 0, "broken")


async def test_redrive_of_all_takes_every_quarantined_job_and_no_other(store: Store) -> None:
    await quarantined(store, "a", "b")
    await store.admit("points", "c", 1)
    what = Act("redrive", "fixed", "me", each=True, command_id="c1")
    done = [
        item
        async for page in matching(store, "redrive")
        for item in await act(store, what, page, await clock_of(store))
    ]
    assert [(item.job, item.verdict) for item in done] == [("a", "redriven"), ("b", "redriven")]
    audit = await store.audit("a")
    assert [(row.verb, row.reason, row.command_id) for row in audit][-1] == ("redrive", "fixed", "c1/a")


async def test_a_limit_bounds_what_is_chosen(store: Store) -> None:
    await quarantined(store, *"abcde")
    pages = [page async for page in matching(store, "redrive", limit=3)]
    assert [item.job for page in pages for item in page] == ["a", "b", "c"]


async def test_a_dry_run_foresees_and_writes_nothing(store: Store) -> None:
    await quarantined(store, "a")
    await store.admit("points", "b", 1)
    before = await store.dump()
    targets = await named(store, "redrive", ["a", "b", "nobody"])
    what, clock = Act("redrive", "", "me"), await clock_of(store)
    seen = [foresee(what, item, clock) for item in targets]
    assert [(item.verdict, item.dry) for item in seen] == [("redriven", True), ("refused", True), ("unknown", True)]
    assert await store.dump() == before


async def test_a_dry_run_and_the_store_agree(store: Store) -> None:
    await quarantined(store, "q")
    await store.admit_many([Admission("points", job, 1) for job in ("r", "f")])
    await store.claim(1, W1, now=1)
    clock = await clock_of(store)
    for verb in ("redrive", "recover", "migrate", "quarantine"):
        what = Act(verb, "why not", "me", to=V2.digest if verb == "migrate" else None, live=True)
        targets = await named(store, verb, ["q", "r", "f", "nobody"])
        foreseen = [foresee(what, item, clock).verdict for item in targets]
        assert [item.verdict for item in await act(store, what, targets, clock)] == foreseen


async def test_an_expected_generation_that_has_passed_is_stale(store: Store) -> None:
    await quarantined(store, "a")
    what, clock = Act("redrive", "again", "me"), await clock_of(store)
    targets = await named(store, "redrive", ["a"], expected=0)
    assert foresee(what, targets[0], clock).verdict == "stale"
    assert [item.verdict for item in await act(store, what, targets, clock)] == ["stale"]


async def test_recover_holds_back_a_live_lease_unless_told_otherwise(store: Store) -> None:
    await store.admit("points", "a", 1)
    await store.claim(1, W1, now=1)
    targets, clock = await named(store, "recover", ["a"]), await clock_of(store)
    careful = await act(store, Act("recover", "gone", "me"), targets, clock)
    assert careful[0].verdict == "refused"
    assert careful[0].cause is not None
    assert "lease is live until tick 6" in careful[0].cause
    assert [item.verdict for item in await act(store, Act("recover", "gone", "me", live=True), targets, clock)] == [
        "recovered"
    ]


async def test_migrate_of_all_takes_jobs_of_a_definition_at_step_zero(store: Store) -> None:
    await store.admit_many([Admission("points", job, 1) for job in ("a", "b")])
    claimed = (await store.claim(1, W1, now=1)).claims[0]
    await store.commit_step(claimed.token, 1, worker=W1, now=1)
    pages = [page async for page in matching(store, "migrate", digest=V1.digest)]
    assert [item.job for page in pages for item in page] == ["b"]
    what = Act("migrate", "price fix", "me", to=V2.digest)
    done = await act(store, what, pages[0], await clock_of(store))
    assert [item.verdict for item in done] == ["migrated"]


async def test_a_batch_keeps_the_order_in_which_jobs_were_named(store: Store) -> None:
    await quarantined(store, "a", "b")
    await store.admit("points", "c", 1)
    targets = await named(store, "redrive", ["b", "nobody", "c", "a"])
    done = await act(store, Act("redrive", "fixed", "me"), targets, await clock_of(store))
    assert [(item.job, item.verdict) for item in done] == [
        ("b", "redriven"),
        ("nobody", "unknown"),
        ("c", "refused"),
        ("a", "redriven"),
    ]


async def test_digests_and_routes_are_found(store: Store) -> None:
    assert await digest_of(store, V2.digest[:6]) == V2.digest
    route = await route_of(store, "points")
    assert route is not None
    assert (route.digest, route.revision) == (V1.digest, 1)
    assert await route_of(store, "nothing") is None

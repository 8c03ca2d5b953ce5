"""release: a claim handed back in good order (contract §7)."""

from demos.scenarios.relay import W1, W2
from demos.scenarios.world import RELAY, World, word, words
from runtime.protocol.records import Callback


async def test_a_released_job_is_ready_at_once_with_its_attempts_as_before_the_claim(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.fail(await here.take(W1, 0))
    claim = await here.take(W1, 2)
    assert claim.attempt == 2
    assert word(await here.store.release(claim.token, "stopping")) == "released"
    fields = ("state", "due", "attempts", "lifetime_attempts", "generation", "reason")
    assert await here.fields("a1", *fields) == ["ready", None, 1, 2, 2, None]
    again = await here.take(W2, 2)
    assert (again.attempt, again.token.generation) == (2, 3)


async def test_a_release_is_counted_shown_and_is_no_failure(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.store.release((await here.take(W1)).token, "stopping", worker="w1")
    assert (await here.store.snapshot()).releases == 1
    (row,) = await here.store.history("a1")
    assert (row.what, row.why, row.worker) == ("released", "stopping", "w1")


async def test_a_released_turn_stays_used(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.event("b1")
    await here.store.release((await here.take(W1)).token, "stopping")
    assert await here.served("a", "b") == [1, 0]
    assert await here.name_of_next(W1) == "b1"


async def test_releases_for_ever_never_spend_the_budget(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    for _ in range(10):
        await here.store.release((await here.take(W1)).token, "stopping")
    assert await here.fields("a1", "state", "attempts", "lifetime_attempts") == ["ready", 0, 10]


async def test_a_batch_of_releases_answers_each_item(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1)).token
    items = [Callback(token, ""), Callback(token, "one"), Callback(token, "two")]
    assert words(await here.store.release_many(items)) == ["InvalidValue", "released", "stale"]

"""renew: a longer lease, bounded by the step's time limit (contract §7)."""

from demos.scenarios.relay import W1, W2
from demos.scenarios.world import RELAY, World, step, word, words
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Renewal, Token, Worker
from runtime.protocol.verdicts import OnLapse


async def test_a_renewed_lease_is_a_whole_lease_from_now(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    claim = await here.take(W1, 0)
    answer = await here.store.renew(claim.token, now=5)
    assert (word(answer), answer.lease_until) == ("renewed", 10)
    assert await here.name_of_next(W2, 10) is None
    assert await here.commit(claim, W1, now=10) == "done"


async def test_no_renewal_goes_past_the_time_limit_and_one_lease(here: World) -> None:
    short = Manifest("short", "relay/1", (step("deliver", "deliver", time_limit=7),))
    worker = Worker.declaring("w1", short)
    await here.define(short)
    await here.store.admit("short", "a1", 1)
    token = (await here.take(worker, 0)).token
    ends = [(await here.store.renew(token, now=now)).lease_until for now in (3, 6, 9, 12)]
    assert ends == [8, 11, 12, 12]
    assert word(await here.store.renew(token, now=13)) == "expired"


async def test_a_renewal_that_no_longer_matches_is_told_and_leaves_nothing(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1, 0)).token
    await here.take(W2, 6)
    before = await here.tables()
    assert word(await here.store.renew(token)) == "stale"
    assert await here.tables() == before


async def test_under_hold_a_lapsed_lease_can_be_renewed(here: World) -> None:
    held = Manifest("held", "relay/1", (step("deliver", "deliver", OnLapse.HOLD),))
    worker = Worker.declaring("w1", held)
    await here.define(held)
    await here.store.admit("held", "a1", 1)
    token = (await here.take(worker, 0)).token
    assert (await here.store.renew(token, now=100)).lease_until == 105


async def test_a_batch_of_renewals_answers_each_item_and_equal_ones_alike(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1, 0)).token
    items = [Renewal(token), Renewal(token), Renewal(Token("nobody", 0, 1, 0, RELAY.digest)), Renewal(token, "")]
    answers = await here.store.renew_many(items, now=2)
    assert words(answers) == ["renewed", "renewed", "unknown", "InvalidValue"]
    assert await here.fields("a1", "lease_until") == [7]

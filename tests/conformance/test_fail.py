"""fail: another attempt after a wait, or quarantine when the budget is spent (contract §7)."""

from demos.scenarios import relay
from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, step, word, words
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Callback, Worker
from runtime.protocol.retry import LONGEST_AFTER_MS
from tests.conformance.conftest import Saw


async def test_r17_two_waits_then_quarantine_with_that_failures_reason_for_good(saw: Saw) -> None:
    assert await saw(relay.r17) == {
        "seen": [
            [0, "retry", 2, 1],
            [1, None, 2, 1],
            [2, "retry", 6, 2],
            [5, None, 6, 2],
            [6, "quarantined", None, 3],
            [1000, None, None, 3],
        ],
        "end": ["quarantined", "no answer at 6", 3, 3, 3, None],
        "history": [
            ["failed", 1, 0, "no answer at 0", 1],
            ["failed", 2, 2, "no answer at 2", 1],
            ["failed", 3, 6, "no answer at 6", 1],
        ],
    }


async def test_r18_waits_double_up_to_the_ceiling_and_the_budget_decides_how_many_are_seen(saw: Saw) -> None:
    assert await saw(relay.r18) == {
        "formula": [2, 4, 8, 8, 8, 8],
        "10,000": 8,
        "seen": {"3": [2, 4], "5": [2, 4, 8, 8]},
    }


async def test_r19_a_worker_that_dies_before_it_sends_has_used_an_attempt_each_time(saw: Saw) -> None:
    seen = await saw(relay.r19)
    assert seen["claims"] == ["a1", "a1", "a1", None]
    *state, reason = seen["a1"]
    assert state == ["quarantined", 3, 3]
    assert "lease" in reason
    assert "budget" in reason
    assert seen["inbox"] == {}
    assert seen["ticket"] == 3


async def test_a_wished_wait_replaces_the_backoff_and_uses_an_attempt(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    answer = await here.store.fail((await here.take(W1, 0)).token, "later", after=100)
    assert (word(answer), answer.due) == ("retry", 100)
    assert await here.fields("a1", "attempts", "due") == [1, 100]
    assert await here.name_of_next(W1, 99) is None
    assert await here.name_of_next(W1, 100) == "a1"


async def test_a_wished_wait_is_zero_to_thirty_days(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    token = (await here.take(W1, 0)).token
    for wish in (-1, LONGEST_AFTER_MS + 1):
        error = await here.error(here.store.fail(token, "later", after=wish))
        assert error.startswith("InvalidValue: after")
    assert word(await here.store.fail(token, "now", after=0)) == "retry"
    assert await here.name_of_next(W1, 0) == "a1"


async def test_attempts_count_since_the_last_progress(here: World) -> None:
    two = Manifest("two", "relay/1", (step("first", "deliver"), step("second", "deliver")))
    worker = Worker.declaring("w1", two)
    await here.define(two)
    await here.store.admit("two", "a1", 1)
    await here.fail(await here.take(worker, 0))
    await here.commit(await here.take(worker, 2), worker)
    assert await here.fields("a1", "attempts", "lifetime_attempts", "cursor") == [0, 2, 1]
    assert await here.fail(await here.take(worker, 2)) == "retry"
    assert await here.fields("a1", "attempts", "due") == [1, 4]


async def test_a_batch_of_failures_answers_each_item(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.event("b1")
    claims = (await here.store.claim(2, W1)).claims
    missing = type(claims[0].token)("nobody", 0, 1, 0, RELAY.digest)
    items = [
        Callback(claims[0].token, "first"),
        Callback(claims[0].token, "again"),
        Callback(claims[1].token, " "),
        Callback(missing, "why"),
    ]
    assert words(await here.store.fail_many(items)) == ["retry", "stale", "InvalidValue", "unknown"]
    assert await here.fields("b1", "state") == ["inflight"]


async def test_a_reason_longer_than_eight_kibibytes_is_cut_and_marked(here: World) -> None:
    await here.define(RELAY)
    await here.event("a1")
    await here.store.quarantine((await here.take(W1)).token, "é" * 10_000)
    (reason,) = await here.fields("a1", "reason")
    assert len(reason.encode()) <= 8192
    assert reason.startswith("é" * 100)
    assert "cut" in reason

"""Table T: every verb in every state of a job."""

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.protocol.records import Answer, Token
from runtime.store.store import Store
from tests.conformance.photograph import Photograph, photograph
from tests.conformance.table import (
    HELD_ONE,
    HELD_TWO,
    LAPSED,
    LIVE,
    ONE,
    STATES,
    TARGET,
    TWO,
    WORKER,
    arrange,
    claimed,
    opened,
    policy_of,
    seen_now,
)

pytestmark = pytest.mark.usefixtures("flow")


async def _call(store: Store, verb: str, token: Token, now: int) -> Answer:
    if verb == "commit_step":
        return await store.commit_step(token, 7, worker=WORKER, now=now)
    if verb == "renew":
        return await store.renew(token, worker="w", now=now)
    if verb in ("fail", "release", "quarantine"):
        answer: Answer = await getattr(store, verb)(token, "tried", worker="w", now=now)
        return answer
    if verb == "migrate":
        return await store.migrate("j", token.binding_revision, TARGET.digest, "tried", now=now)
    operator: Answer = await getattr(store, verb)("j", token.generation, "tried", now=now)
    return operator


CALLBACKS = {
    "ready": "stale",
    "backing off": "stale",
    "live, retry": "",
    "live, hold": "",
    "lapsed, retry": "expired",
    "lapsed, hold": "",
    "swept": "expired",
    "swept and spent": "expired",
    "quarantined": "stale",
    "done": "stale",
}
SUCCESS = {
    "commit_step": "done",
    "fail": "retry",
    "release": "released",
    "quarantine": "quarantined",
    "renew": "renewed",
}
READY = ("ready", "backing off", "swept")
INFLIGHT = ("live, retry", "live, hold", "lapsed, retry", "lapsed, hold")
OPERATORS: dict[str, dict[str, tuple[str, ...]]] = {
    "redrive": {"redriven": ("quarantined", "swept and spent")},
    "quarantine_job": {"quarantined": (*READY, *INFLIGHT)},
    "recover": {"recovered": INFLIGHT},
    "migrate": {"migrated": READY},
}


def _table() -> list[Any]:
    rows = [
        pytest.param(verb, state, word or SUCCESS[verb], id=f"{verb}-{state}-{word or SUCCESS[verb]}")
        for verb in SUCCESS
        for state, word in CALLBACKS.items()
    ]
    for verb, success in OPERATORS.items():
        ((word, states),) = success.items()
        for state in STATES:
            answer = word if state in states else "refused"
            rows.append(pytest.param(verb, state, answer, id=f"{verb}-{state}-{answer}"))
    return rows


@pytest.mark.parametrize(("verb", "state", "word"), _table())
async def test_t_every_verb_in_every_state(tmp_path: Path, verb: str, state: str, word: str) -> None:
    async with await opened(tmp_path, policy_of(state, ONE, HELD_ONE)) as store:
        now = await arrange(store, state)
        before, token = await seen_now(store)
        answer = await _call(store, verb, token, now)
        assert answer.verdict == word
        after, _ = await seen_now(store)
        if word in ("stale", "expired", "refused"):
            assert answer.cause
            _nothing_changed(before, after, refused_callback=verb in SUCCESS and verb != "renew")
        else:
            _changed_as_promised(word, verb, before.jobs["j"], after.jobs["j"])


def _nothing_changed(before: Photograph, after: Photograph, *, refused_callback: bool) -> None:
    """All as it was, but for the tick, and the row of history that a refused callback leaves."""
    now = copy.deepcopy(after)
    now.control["tick"] = before.control["tick"]
    if refused_callback:
        assert now.history["j"].pop("refused") == 1
    else:
        now.history["j"].pop("refused", None)
    now.history["j"] = now.history["j"] or before.history["j"]
    assert now == before


def _changed_as_promised(word: str, verb: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    state = {
        "done": "done",
        "quarantined": "quarantined",
        "renewed": "inflight",
        "retry": "ready",
        "released": "ready",
        "redriven": "ready",
        "recovered": "ready",
        "migrated": "ready",
    }[word]
    assert after["state"] == state
    raised = verb in OPERATORS
    assert after["generation"] == before["generation"] + raised
    assert after["binding"] == before["binding"] + (verb == "migrate")
    assert after["lifetime"] == before["lifetime"]
    attempts = 0 if word in ("done", "redriven", "recovered", "migrated") else before["attempts"]
    assert after["attempts"] == attempts - (word == "released")
    for name in ("seq", "flow", "workflow", "accepted"):
        assert after[name] == before[name]


@pytest.mark.parametrize("state", INFLIGHT)
@pytest.mark.parametrize("part", ["job", "binding_revision", "generation", "cursor", "digest"])
@pytest.mark.parametrize("verb", SUCCESS)
async def test_v12_each_part_of_the_token_changed_alone(tmp_path: Path, verb: str, part: str, state: str) -> None:
    async with await opened(tmp_path, policy_of(state, ONE, HELD_ONE)) as store:
        now = await arrange(store, state)
        await store.admit("table", "other", {"n": 1}, flow="f", now=now)
        before, token = await seen_now(store)
        changed = {"job": "other", "digest": TARGET.digest}.get(part) or getattr(token, part) + 1
        other = msgspec.structs.replace(token, **{part: changed})
        assert (await _call(store, verb, other, now)).verdict == "stale"
        after, _ = await seen_now(store)
        assert (after.jobs, after.effects, after.flows) == (before.jobs, before.effects, before.flows)


@pytest.mark.parametrize("verb", [*SUCCESS, *OPERATORS])
async def test_t_a_job_that_does_not_exist_is_unknown(tmp_path: Path, verb: str) -> None:
    async with await opened(tmp_path, ONE) as store:
        token = Token("nobody", 0, 0, 0, ONE.digest)
        before, _ = await seen_now(store)
        if verb in SUCCESS:
            answer = await _call(store, verb, token, 0)
        elif verb == "migrate":
            answer = await store.migrate("nobody", 0, TARGET.digest, "tried", now=0)
        else:
            answer = await getattr(store, verb)("nobody", 0, "tried", now=0)
        assert answer.verdict == "unknown"
        assert await photograph(store) == before


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("verb", OPERATORS)
@pytest.mark.parametrize("seen", [-1, 1], ids=["older", "newer"])
async def test_t_what_was_observed_is_compared_before_what_is_allowed(
    tmp_path: Path, verb: str, state: str, seen: int
) -> None:
    async with await opened(tmp_path, policy_of(state, ONE, HELD_ONE)) as store:
        now = await arrange(store, state)
        before, token = await seen_now(store)
        generation, binding = token.generation + seen, token.binding_revision + seen
        if min(generation if verb != "migrate" else binding, 0) < 0:
            generation, binding = token.generation + 7, token.binding_revision + 7
        observed = Token("j", binding, generation, token.cursor, token.digest)
        assert (await _call(store, verb, observed, now)).verdict == "stale"
        after, _ = await seen_now(store)
        _nothing_changed(before, after, refused_callback=False)


@pytest.mark.parametrize("state", STATES)
async def test_t_migrate_with_a_committed_step_is_refused_in_every_state(tmp_path: Path, state: str) -> None:
    async with await opened(tmp_path, policy_of(state, TWO, HELD_TWO)) as store:
        token = await claimed(store, 0)
        assert (await store.commit_step(token, 1, worker=WORKER, now=0)).verdict == "advanced"
        now = await arrange(store, state)
        before, token = await seen_now(store)
        assert token.cursor >= 1
        answer = await store.migrate("j", 0, TARGET.digest, "tried", effects_checked=True, now=now)
        assert answer.verdict == "refused"
        after, _ = await seen_now(store)
        _nothing_changed(before, after, refused_callback=False)


@pytest.mark.parametrize(("state", "advanced"), [("live, retry", True), ("live, hold", True), ("lapsed, hold", True)])
async def test_t_commit_of_a_step_that_is_not_the_last_advances(tmp_path: Path, state: str, advanced: bool) -> None:
    async with await opened(tmp_path, policy_of(state, TWO, HELD_TWO)) as store:
        now = await arrange(store, state)
        _, token = await seen_now(store)
        answer = await store.commit_step(token, 7, worker=WORKER, now=now)
        assert (answer.verdict == "advanced") is advanced
        after, _ = await seen_now(store)
        job = after.jobs["j"]
        assert (job["state"], job["cursor"], job["attempts"], job["generation"]) == ("ready", 1, 0, 1)


@pytest.mark.parametrize("state", INFLIGHT)
async def test_t_the_last_failure_of_the_budget_quarantines(tmp_path: Path, state: str) -> None:
    async with await opened(tmp_path, policy_of(state, ONE, HELD_ONE)) as store:
        await store.fail(await claimed(store, 0), "first", after=0, now=0)
        now = await arrange(store, state)
        _, token = await seen_now(store)
        word = "expired" if state == "lapsed, retry" else "quarantined"
        assert (await store.fail(token, "second", now=now)).verdict == word


CLAIMS = {
    "ready": 1,
    "backing off": 0,
    "live, retry": 0,
    "live, hold": 0,
    "lapsed, retry": 1,
    "lapsed, hold": 0,
    "swept": 1,
    "swept and spent": 0,
    "quarantined": 0,
    "done": 0,
}


@pytest.mark.parametrize(("state", "count"), CLAIMS.items(), ids=CLAIMS)
async def test_t_claim_in_every_state(tmp_path: Path, state: str, count: int) -> None:
    async with await opened(tmp_path, policy_of(state, ONE, HELD_ONE)) as store:
        now = await arrange(store, state)
        before, _ = await seen_now(store)
        claims = (await store.claim(9, WORKER, now=now)).claims
        assert len(claims) == count
        after, _ = await seen_now(store)
        assert after.control["ticket"] == before.control["ticket"] + count
        job = after.jobs["j"]
        assert job["generation"] == before.jobs["j"]["generation"] + count
        assert job["lifetime"] == before.jobs["j"]["lifetime"] + count


async def test_t_a_claim_that_finds_a_spent_budget_quarantines_it_and_goes_on(tmp_path: Path) -> None:
    async with await opened(tmp_path, ONE) as store:
        await store.admit("table", "next", {"n": 1}, flow="g", now=0)
        tokens = [claim.token for claim in (await store.claim(2, WORKER, now=0)).claims]
        await store.fail(tokens[0], "first", after=0, now=0)
        await store.release(tokens[1], "stopping", now=0)
        held = (await store.claim(2, WORKER, now=0)).claims
        await store.release(next(claim.token for claim in held if claim.token.job == "next"), "stopping", now=0)
        claims = (await store.claim(9, WORKER, now=LAPSED)).claims
        assert [claim.token.job for claim in claims] == ["next"]
        seen, _ = await seen_now(store)
        assert seen.jobs["j"]["state"] == "quarantined"


@pytest.mark.parametrize("mode", ["open", "draining"])
@pytest.mark.parametrize("state", STATES)
async def test_t_admission_replays_or_conflicts_in_every_state(
    tmp_path: Path, state: str, mode: str, flow: str | None
) -> None:
    async with await opened(tmp_path, policy_of(state, ONE, HELD_ONE)) as store:
        now = await arrange(store, state)
        if mode != "open":
            await store.transition("drain", 0, now=now)
        before, _ = await seen_now(store)
        answer = await store.admit("table", "j", {"n": 1.0}, flow=flow, now=now)
        assert answer.verdict == "replay"
        assert answer.record is not None
        assert (answer.record.state, answer.record.generation) == (
            before.jobs["j"]["state"],
            before.jobs["j"]["generation"],
        )
        others = (({"n": 2}, flow, "payload"), ({"n": 1}, "g", "flow"), ({"n": 1}, None if flow else "f", "flow"))
        for payload, where, field in others:
            other = await store.admit("table", "j", payload, flow=where, now=now)
            assert (other.verdict, other.field) == ("conflict", field)
        elsewhere = await store.admit("elsewhere", "j", {"n": 1}, flow=flow, now=now)
        assert (elsewhere.verdict, elsewhere.field) == ("conflict", "workflow")
        after, _ = await seen_now(store)
        _nothing_changed(before, after, refused_callback=False)


@pytest.mark.parametrize("verb", ["redrive", "recover", "migrate"])
async def test_t_a_first_step_under_hold_that_was_claimed_needs_effects_checked(tmp_path: Path, verb: str) -> None:
    async with await opened(tmp_path, HELD_ONE) as store:
        await arrange(store, "quarantined" if verb == "redrive" else "live, hold")
        if verb == "migrate":
            await store.recover("j", 1, "lost", now=LIVE)
        before, token = await seen_now(store)

        async def ask(checked: bool) -> Answer:
            if verb == "migrate":
                return await store.migrate("j", 0, TARGET.digest, "agreed", effects_checked=checked, now=LIVE)
            answer: Answer = await getattr(store, verb)(
                "j", token.generation, "agreed", to=TARGET.digest, effects_checked=checked, now=LIVE
            )
            return answer

        assert (await ask(False)).verdict == "refused"
        between, _ = await seen_now(store)
        _nothing_changed(before, between, refused_callback=False)
        assert (await ask(True)).verdict == {"redrive": "redriven", "recover": "recovered", "migrate": "migrated"}[verb]
        after, now = await seen_now(store)
        assert (now.digest, now.binding_revision) == (TARGET.digest, 1)
        assert now.generation == token.generation + (1 if verb == "migrate" else 2)
        assert after.chain["j"] == [(HELD_ONE.digest, TARGET.digest)]

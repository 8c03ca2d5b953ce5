"""Identity reuse: what an id that is known already answers, and what a new life of it inherits."""

import json
from pathlib import Path
from typing import Any

import pytest

from demos.scenarios.world import words
from runtime import testing
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Admission, Answer, Worker
from runtime.store.store import Store
from tests.cases.looking import count, define, job
from tests.cases.pool import command
from workers import App, Context

PLAIN = Manifest("plain", "cases/1", (Step("only", "any", lease=5, base=2, ceiling=8, time_limit=100),))
OTHER = Manifest("other", "cases/1", (Step("only", "any"),))
WORKER = Worker.declaring("w1", PLAIN, OTHER)
SEEN: list[Any] = []

app = App("plain", abi="cases/1")


@app.step
async def see(ctx: Context) -> Any:
    """Keeps the payload that it was given."""
    SEEN.append(ctx.payload)
    return ctx.payload


app.manifest([("only", see)])


@pytest.fixture(autouse=True)
def forget() -> None:
    """No test sees what another one's handler saw."""
    SEEN.clear()


async def test_c31_the_answer_to_a_changed_payload_shows_the_first_job(logical: Store) -> None:
    await app.prepare(logical)
    await logical.admit("plain", "id1", {"x": 1}, flow="F")
    answer = await logical.admit("plain", "id1", {"x": 2}, flow="F")
    assert (answer.verdict, answer.field) == ("conflict", "payload")
    assert "id1" in str(answer.cause)
    assert await logical.payload("id1") == {"x": 1}
    assert await count(logical) == 1
    await testing.run_until_idle(app, logical)
    assert SEEN == [{"x": 1}]


async def test_c32_a_finished_id_answers_replay_with_its_record_or_conflict(logical: Store) -> None:
    await app.prepare(logical)
    await logical.admit("plain", "id1", {"x": 1}, flow="F")
    running = await logical.admit("plain", "id1", {"x": 1}, flow="F")
    assert running.record is not None
    assert (running.verdict, running.record.state) == ("replay", "ready")  # replay alone is not done
    await testing.run_until_idle(app, logical)
    same = await logical.admit("plain", "id1", {"x": 1}, flow="F")
    other = await logical.admit("plain", "id1", {"x": 2}, flow="F")
    assert same.record is not None
    assert (same.verdict, same.record.state, other.verdict) == ("replay", "done", "conflict")
    assert [effect.value for effect in await logical.effects("id1")] == [{"x": 1}]
    await testing.run_until_idle(app, logical)
    assert SEEN == [{"x": 1}]


async def test_c33_the_comparison_is_of_canonical_values(logical: Store) -> None:
    await define(logical, PLAIN, OTHER)
    first = {"a": 1, "b": [1, 2]}
    assert (await logical.admit("plain", "id1", first, flow="F")).verdict == "accepted"
    tries: list[Admission] = [
        Admission("plain", "id1", {"b": [1, 2], "a": 1}, "F"),
        Admission("plain", "id1", {"a": 1, "b": [2, 1]}, "F"),
        Admission("plain", "id1", {"a": True, "b": [1, 2]}, "F"),
        Admission("plain", "id1", {"a": 1, "b": [1, 2], "c": None}, "F"),
        Admission("plain", "id1", first, "G"),
        Admission("other", "id1", first, "F"),
        Admission("plain", "id1", {"a": 1.0, "b": [1, 2]}, "F"),  # 1 and 1.0 are one value: RFC 8785
    ]
    answers = await logical.admit_many(tries)
    assert words(answers) == ["replay", *["conflict"] * 5, "replay"]
    fields = [answer.field for answer in answers if isinstance(answer, Answer)]
    assert fields == [None, "payload", "payload", "payload", "flow", "workflow", None]
    assert await count(logical) == 1


async def test_c34_an_honest_retry_is_a_replay_after_the_door_has_closed(logical: Store) -> None:
    await define(logical, PLAIN)
    await logical.admit("plain", "J", 1)
    drained = await logical.transition("drain", 0)
    assert (drained.mode, drained.version) == ("draining", 1)
    again = await logical.admit("plain", "J", 1)
    assert again.record is not None
    assert (again.verdict, again.record.id) == ("replay", "J")
    assert (await logical.admit("plain", "new", 1)).verdict == "closed"
    assert await count(logical) == 1


async def test_c35_the_batch_path_judges_each_identity_in_order(logical: Store) -> None:
    await define(logical, PLAIN)
    await logical.set("capacity", 2, "small")
    batch = [
        Admission("plain", "a", 1, "F"),
        Admission("plain", "b", 1, "F"),
        Admission("plain", "a", 1, "F"),
        Admission("plain", "b", 2, "F"),
        Admission("plain", "c", 1, "F"),
    ]
    assert words(await logical.admit_many(batch)) == ["accepted", "accepted", "replay", "conflict", "full"]
    assert [(job.id, job.seq) for job in await logical.jobs()] == [("a", 1), ("b", 2)]
    await logical.set("capacity", None, "large")
    assert words(await logical.admit_many(batch)) == ["replay", "replay", "replay", "conflict", "accepted"]
    assert [(job.id, job.seq) for job in await logical.jobs()] == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize(("point", "first"), [("admit.before_commit", "accepted"), ("admit.after_commit", "replay")])
async def test_c35_a_crash_inside_the_batch_leaves_nothing_or_all(
    logical: Store, db: Path, point: str, first: str
) -> None:
    await define(logical, PLAIN)
    batch = [Admission("plain", name, 1, "F") for name in ("x", "y", "z")]
    lines = "\n".join(json.dumps({"id": item.id, "payload": 1, "flow": "F"}) for item in batch)
    ended = await command(db, "admit", "plain", "--jsonl", "-", stdin=lines, env={"KEEPSTEP_CRASH_AT": point})
    assert ended.returncode == 73
    assert await count(logical) == (0 if first == "accepted" else 3)
    assert words(await logical.admit_many(batch)) == [first] * 3
    assert [job.seq for job in await logical.jobs()] == [1, 2, 3]


async def test_c36_a_redriven_job_begins_anew_and_its_past_is_in_the_audit(logical: Store) -> None:
    await define(logical, PLAIN)
    await logical.admit("plain", "J", 1, flow="F", now=0)
    for begun in (0, 200, 400):
        (claim,) = (await logical.claim(1, WORKER, now=begun)).claims
        for now in range(begun + 5, begun + 95, 5):
            await logical.renew(claim.token, now=now)
        last = await logical.fail(claim.token, f"too slow at {begun + 94}", now=begun + 94)
    assert last.verdict == "quarantined"
    await logical.admit("plain", "J2", 1, flow="G", now=10_000)
    await logical.redrive("J", 3, "the service is back", now=10_000)
    claims = {claim.token.job: claim for claim in (await logical.claim(2, WORKER, now=10_007)).claims}
    for name, generation, lifetime in (("J", 5, 4), ("J2", 1, 1)):
        now_is = await job(logical, name)
        assert (now_is.state, now_is.since, now_is.lease_until) == ("inflight", 10_007, 10_012)
        assert (now_is.attempts, now_is.generation, now_is.lifetime_attempts) == (1, generation, lifetime)
        assert now_is.reason is None
    for now in range(10_012, 10_100, 5):
        assert (await logical.renew(claims["J"].token, now=now)).verdict == "renewed"
    (act,) = await logical.audit("J")
    assert "too slow at 494" in str(act.before) + str(act.after)
    assert [row.why for row in await logical.history("J")] == [f"too slow at {end}" for end in (94, 294, 494)]
    assert await logical.history("J2") == []

"""Lease bookkeeping: renewals that cross an end, workers that look alike, commits at the last moment."""

import logging
import os
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from runtime.protocol.errors import ItemError
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Admission, Answer, Claim, Commit, Renewal, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store
from tests.cases.looking import count, define, fields, happened, in_state, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context, step

LEASE = 50


async def test_c18_a_renewal_that_arrives_after_the_end_is_no_news(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = App("short", abi="cases/1")
    cancelled: list[str] = []
    in_the_air, may_arrive, may_return = threading.Event(), threading.Event(), anyio.Event()
    answers: list[Answer | ItemError] = []
    renew = Store.renew_many

    async def delayed(self: Store, items: Sequence[Renewal], *, now: int | None = None) -> list[Answer | ItemError]:
        in_the_air.set()
        await until(may_arrive.is_set)
        found = await renew(self, items, now=now)
        answers.extend(found)
        return found

    monkeypatch.setattr(Store, "renew_many", delayed)

    @app.step
    async def waits(ctx: Context) -> str:
        try:
            await may_return.wait()
        except BaseException:
            cancelled.append(ctx.id)
            raise
        return "well"

    app.manifest([step("only", waits, lease="1s")])
    await prepared(app, store)
    await store.admit("short", "J", 1)
    with caplog.at_level(logging.DEBUG, "keepstep"):
        async with inside(app, db):
            await until(in_the_air.is_set)
            may_return.set()
            await until(in_state(store, "J", "done"))
            may_arrive.set()
            await until(lambda: answers)
    assert [answer.verdict for answer in answers if isinstance(answer, Answer)] == ["stale"]
    assert cancelled == []
    assert [line.message for line in caplog.records if line.levelno >= logging.WARNING] == []
    assert await fields(store, "J", "state", "generation") == ["done", 1]
    assert await happened(store, "J") == []


async def test_c19_two_workers_on_hosts_and_processes_of_the_same_name_are_two(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App("twins", abi="cases/1")
    claims: dict[str, Claim] = {}
    over = anyio.Event()

    @app.step
    async def waits(ctx: Context) -> None:
        claims[ctx.id] = ctx.claim
        await over.wait()

    app.manifest([step("only", waits)])
    await prepared(app, store)
    pid = os.getpid()
    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    monkeypatch.setattr("workers.worker.os.getpid", lambda: pid)
    async with inside(app, db, concurrency=1) as first, inside(app, db, concurrency=1) as second:
        await store.admit("twins", "J1", 1)
        await store.admit("twins", "J2", 1)
        await until(lambda: len(claims) == 2)
        assert first.worker != second.worker
        snapshot = await store.snapshot()
        assert snapshot.jobs["inflight"] == 2
        assert {row.worker for row in snapshot.workers if row.live} == {first.worker, second.worker}
        assert {(row.host, row.pid) for row in snapshot.workers} == {("box", pid)}
        workers = [(await fields(store, name, "worker"))[0] for name in ("J1", "J2")]
        assert set(workers) == {first.worker, second.worker}
        await taken_over(store, claims["J1"], app)
        over.set()


async def taken_over(store: Store, claim: Claim, app: App) -> None:
    """Once another worker has a job, the token of the first writes nothing, whatever name it gives."""
    await store.recover("J1", claim.token.generation, "the worker will not answer")
    other = Worker.declaring("other", *app.manifests)
    (taken,) = (await store.claim(1, other)).claims
    assert taken.token.job == "J1"
    assert (await store.renew(claim.token, worker="other")).verdict == "stale"
    assert (await store.commit_step(claim.token, None, worker=other)).verdict == "stale"
    assert (await store.commit_step(taken.token, None, worker=other)).verdict == "done"


@pytest.mark.parametrize("hold", [False, True])
async def test_c20_a_job_that_ends_within_its_lease_is_never_found_abandoned(logical: Store, hold: bool) -> None:
    manifest = Manifest("last", "cases/1", (Step("only", "any", lease=LEASE, base=1, ceiling=1, on_lapse=lapse(hold)),))
    worker, looker = Worker.declaring("w", manifest), Worker("looker")
    await define(logical, manifest)
    await logical.admit_many([Admission("last", f"job-{n:03}", n, f"flow-{n:03}") for n in range(110)], now=0)
    claims = (await logical.claim(110, worker, now=0)).claims
    in_time, late = claims[:100], claims[100:]
    old_list = await logical.jobs(state="inflight", limit=110)
    for place, now in enumerate(range(LEASE - 9, LEASE + 1)):
        chosen = in_time[place * 10 : place * 10 + 10]
        answers = await logical.commit_step_many([Commit(one.token, "well", worker) for one in chosen], now=now)
        assert {answer.verdict for answer in answers if isinstance(answer, Answer)} <= {"done"}
        await logical.claim(10, looker, now=now)
        await logical.sweep(now=now)
    for seen in old_list[:5]:
        assert (await logical.recover(seen.id, seen.generation, "seen in an older list")).verdict == "refused"
    commits = [Commit(one.token, "late", worker) for one in late]
    if not hold:
        for now in (LEASE + 1, LEASE + 2):
            answers = await logical.commit_step_many(commits, now=now)
            assert [answer.verdict for answer in answers if isinstance(answer, Answer)] == ["expired"] * 10
        await logical.sweep(now=LEASE + 2)
        answers = await logical.commit_step_many(commits, now=LEASE + 3)
        assert [answer.verdict for answer in answers if isinstance(answer, Answer)] == ["expired"] * 10
        await rerun(logical, worker)
    else:
        await logical.sweep(now=LEASE + 2)
        answers = await logical.commit_step_many(commits, now=LEASE + 3)
        assert [answer.verdict for answer in answers if isinstance(answer, Answer)] == ["done"] * 10
    await logical.sweep(now=5 * LEASE)
    assert await count(logical, "done") == 110
    for one in in_time:
        assert await fields(logical, one.token.job, "state", "generation") == ["done", 1]
        assert await happened(logical, one.token.job) == []
        assert [effect.value for effect in await logical.effects(one.token.job)] == ["well"]


async def rerun(store: Store, worker: Worker) -> None:
    """The late ones are run again, and end with the second value."""
    again = (await store.claim(20, worker, now=LEASE + 3)).claims
    assert [claim.token.generation for claim in again] == [2] * 10
    answers = await store.commit_step_many([Commit(one.token, "again", worker) for one in again])
    assert [answer.verdict for answer in answers if isinstance(answer, Answer)] == ["done"] * 10
    assert await happened(store, again[0].token.job) == ["refused", "lapsed"]
    assert [effect.value for effect in await store.effects(again[0].token.job)] == ["again"]


def lapse(hold: bool) -> OnLapse:
    """The step's lease policy."""
    return OnLapse.HOLD if hold else OnLapse.RETRY

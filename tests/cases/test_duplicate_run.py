"""Duplicate run: one attempt at a time, and a late one writes nothing."""

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from statistics import median

import anyio
import pytest

from demos.scenarios.relay import W1
from demos.scenarios.world import RELAY, World, words, world
from runtime.embed import SHORTEST_LEASE_MS, run
from runtime.protocol.errors import InvalidValue, ItemError
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Admission, Answer, Claim, Renewal, Worker
from runtime.store.inbox import Inbox
from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import count, counted, define, fields, happened, in_state, prepared
from tests.cases.notes import SLACK, begun, notes, open_gate, until
from tests.cases.pool import inside, pool
from workers import App, Context, step

Answers = list[Answer | ItemError]


async def test_c10_a_long_step_runs_once_however_short_its_lease(store: Store, db: Path) -> None:
    app = App("long", abi="cases/1")
    calls: list[int] = []

    @app.step
    async def five_leases(ctx: Context) -> None:
        calls.append(ctx.generation)
        await anyio.sleep(2.5)

    app.manifest([step("only", five_leases, lease="500ms")])
    await prepared(app, store)
    await store.admit("long", "J", 1)
    async with AsyncExitStack() as stack:
        for _ in range(3):
            await stack.enter_async_context(inside(app, db))
        await until(in_state(store, "J", "done"))
    assert calls == [1]
    assert await fields(store, "J", "generation", "lifetime_attempts") == [1, 1]
    assert await happened(store, "J") == []


async def test_c11_a_lease_that_renewals_cannot_keep_is_refused_at_the_start(store: Store) -> None:
    app = App("tight", abi="cases/1")

    @app.step
    async def never(ctx: Context) -> None:
        raise AssertionError("it must not be claimed")

    app.manifest([step("only", never, lease=SHORTEST_LEASE_MS - 1)])
    await prepared(app, store)
    await store.admit("tight", "J", 1)
    with pytest.raises(InvalidValue, match=rf"{SHORTEST_LEASE_MS} ms.*{SHORTEST_LEASE_MS - 1} ms"):
        await run(app, store, until_idle=True)
    assert await fields(store, "J", "state", "generation") == ["ready", 0]


async def test_c11_renewals_come_at_least_twice_a_lease(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease_ms, jobs = 1_000, 50
    app = App("renewed", abi="cases/1")
    renewals: dict[str, list[float]] = {}
    renew = Store.renew_many

    async def noted(self: Store, items: Sequence[Renewal], *, now: int | None = None) -> Answers:
        answers = await renew(self, items, now=now)
        for item in items:
            renewals[item.token.job].append(time.monotonic())
        return answers

    monkeypatch.setattr(Store, "renew_many", noted)

    @app.step
    async def ten_leases(ctx: Context) -> None:
        renewals[ctx.id] = [time.monotonic()]
        await anyio.sleep(10 * lease_ms / 1000)

    app.manifest([step("only", ten_leases, lease=lease_ms)])
    await prepared(app, store)
    await store.admit_many([Admission("renewed", f"J{n}", 1, f"F{n}") for n in range(jobs)])
    async with inside(app, db, concurrency=jobs):
        await until(counted(store, "done", jobs), within_s=SLACK * 10 * lease_ms / 1000)
    gaps = [later - earlier for times in renewals.values() for earlier, later in pairwise(times)]
    assert median(gaps) <= lease_ms / 2000
    assert max(gaps) <= SLACK * lease_ms / 2000
    assert {job.generation for job in await store.jobs()} == {1}


async def test_c12_new_processes_take_no_live_peer_for_dead(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    await store.admit("gated", "J", {"gate": "open"})
    async with pool(db) as first:
        await until(begun(db.parent, 1))
        async with AsyncExitStack() as stack:
            family = [await stack.enter_async_context(pool(db, "--until-idle")) for _ in range(5)]
            for one in family:
                assert await one.wait() == 0, one.log
        assert await fields(store, "J", "state", "generation") == ["inflight", 1]
        open_gate(db.parent, "open")
        await until(in_state(store, "J", "done"))
        assert "cancelled" not in first.log
    assert await fields(store, "J", "generation", "lifetime_attempts") == [1, 1]
    assert len(notes(db.parent, "begin")) == 1


async def test_c13_a_taker_that_acts_on_an_older_list_takes_the_next_one(logical: Store) -> None:
    manifest = Manifest("taken", "cases/1", (Step("only", "any", lease=5, base=1, ceiling=1),))
    dead, first, second = (Worker.declaring(name, manifest) for name in ("dead", "R1", "R2"))
    await define(logical, manifest)
    await logical.admit("taken", "J", 1, now=0)
    await logical.claim(1, dead, now=0)
    await logical.admit("taken", "next", 1, now=1)
    seen = await logical.jobs(state="inflight")  # both takers have read J as a candidate
    assert [job.id for job in seen] == ["J"]
    (claim,) = (await logical.claim(1, first, now=6)).claims
    assert (claim.token.job, claim.token.generation) == ("J", 2)
    (other,) = (await logical.claim(1, second, now=6)).claims  # a claim never names its job: what is taken is passed by
    assert other.token.job == "next"
    assert (await logical.claim(1, second, now=6)).claims == ()
    stale = await logical.recover("J", seen[0].generation, "seen in an older list", now=6)
    assert stale.verdict == "stale"
    assert await fields(logical, "J", "state", "worker", "attempts") == ["inflight", "R1", 2]
    assert (await logical.commit_step(claim.token, 1, worker=first, now=6)).verdict == "done"


async def test_c14_a_delayed_job_is_not_an_overdue_one(logical: Store) -> None:
    manifest = Manifest("delayed", "cases/1", (Step("only", "any", lease=1, base=10, ceiling=10),))
    workers = [Worker.declaring(name, manifest) for name in ("w1", "w2", "w3")]
    await define(logical, manifest)
    await logical.admit("delayed", "J", 1, now=0)
    (claim,) = (await logical.claim(1, workers[0], now=0)).claims
    await logical.fail(claim.token, "later", now=0)
    claims: list[tuple[int, Claim]] = []
    for now in range(21):
        for worker in workers:
            claims += [(now, one) for one in (await logical.claim(1, worker, now=now)).claims]
        if now < 10:
            assert await fields(logical, "J", "state", "due", "lease_until", "worker") == ["ready", 10, None, None]
        if claims and now == claims[0][0]:
            await logical.renew(claims[0][1].token, now=now)
        if claims and now == 11:
            assert (await logical.commit_step(claims[0][1].token, 1, worker=workers[0], now=now)).verdict == "done"
    assert [(now, one.token.generation, one.attempt) for now, one in claims] == [(10, 2, 2)]
    assert await happened(logical, "J") == ["failed"]


@pytest.mark.timeout(120)
async def test_c15_eight_processes_take_a_thousand_jobs_once_each(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    await store.admit_many([Admission("steady", f"J{n}", n, f"F{n}") for n in range(1_000)])
    async with AsyncExitStack() as stack:
        family = [
            await stack.enter_async_context(pool(db, "--until-idle", "--concurrency", "8", "--durability", "normal"))
            for _ in range(8)
        ]
        for one in family:
            assert await one.wait(60) == 0, one.log
    assert await count(store, "done") == 1_000
    handled = [entry["job"] for entry in notes(db.parent, "begin")]
    assert len(handled) == len(set(handled)) == 1_000
    assert (await store.snapshot()).ticket == 1_000
    assert {job.generation for job in await store.jobs(limit=1_000)} == {1}


async def test_c16_a_handler_whose_lease_is_gone_is_cancelled_and_writes_nothing(
    store: Store, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = App("late", abi="cases/1"), App("late", abi="cases/1")
    seen: dict[str, Claim] = {}
    cancelled = anyio.Event()
    late: list[str] = []
    renew = Store.renew_many

    async def suppressed(self: Store, items: Sequence[Renewal], *, now: int | None = None) -> Answers:
        if items[0].token.generation == 1:
            await until(lambda: "B" in seen)
        answers = await renew(self, items, now=now)
        late.extend(words(answers))
        return answers

    monkeypatch.setattr(Store, "renew_many", suppressed)

    @first.step(name="work")
    async def stubborn(ctx: Context) -> str:
        seen["A"] = ctx.claim
        ctx.execute("insert into theirs values ('A')")
        try:
            await anyio.sleep_forever()
        except BaseException:
            cancelled.set()
        return "A"

    @second.step(name="work")
    async def prompt(ctx: Context) -> str:
        seen["B"] = ctx.claim
        ctx.execute("insert into theirs values ('B')")
        await cancelled.wait()
        return "B"

    for app in (first, second):
        app.schema("theirs", "create table theirs (who text)")
        app.manifest([step("only", "work", lease="400ms")])
    await prepared(first, store)
    await store.admit("late", "J", 1)
    async with inside(first, db, concurrency=1):
        await until(lambda: "A" in seen)
        async with inside(second, db):
            await until(in_state(store, "J", "done"))
    assert "stale" in late
    assert (seen["A"].token.generation, seen["B"].token.generation) == (1, 2)
    answer = await store.commit_step(seen["A"].token, "A", worker=Worker.declaring("A", *first.manifests))
    assert answer.verdict == "stale"
    assert [effect.value for effect in await store.effects("J")] == ["B"]
    assert await store.query("select who from theirs") == [("B",)]


async def test_c17_a_crash_between_the_two_files_ends_in_a_duplicate(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    await store.admit_many([Admission("deliver", f"e{n}", {"delta": n}, "F") for n in (1, 2, 3)])
    async with await Inbox.open(db.parent / "receiver.db") as inbox:
        async with pool(db, env={"KEEPSTEP_CRASH_AT": "receive.after_commit:2"}) as crashing:
            assert await crashing.wait() == 73, crashing.log
        assert await fields(store, "e2", "state", "cursor") == ["inflight", 0]
        assert await inbox.totals() == {"F": 3}
        early = await inbox.receive("e4", "F", 4, {"delta": 1})
        assert early.verdict == "gap"
        async with pool(db) as fresh:
            await fresh.ready()
            await until(counted(store, "done", 3))
        assert await inbox.totals() == {"F": 6}
        receipts = await inbox.dump()
    answers = [(entry["job"], entry["word"]) for entry in notes(db.parent, "end")]
    assert answers == [("e1", "accepted"), ("e2", "duplicate"), ("e3", "accepted")]
    assert [(row["event_id"], row["seq"]) for row in receipts["inbox_receipt"]] == [("e1", 1), ("e2", 2), ("e3", 3)]


async def test_c17_a_lost_answer_ends_in_a_duplicate_and_an_early_event_in_a_gap(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await deliver_out_of_luck(here)


async def deliver_out_of_luck(here: World) -> None:
    """Event 2's answer is lost once, event 3 is offered before event 2."""
    await here.define(RELAY)
    await here.events("F", 3)
    assert await here.deliver(W1, 0) == ["F1", "accepted", "done"]
    assert (await here.inbox.receive("F3", "F", 3, {"delta": 10})).verdict == "gap"
    claim = await here.take(W1, 0)
    assert (await here.send(claim)).verdict == "accepted"
    assert await here.fail(claim, "no reply", now=0) == "retry"
    assert await here.deliver(W1, 1) is None
    assert await here.deliver(W1, 2) == ["F2", "duplicate", "done"]
    assert await here.deliver(W1, 2) == ["F3", "accepted", "done"]
    assert await here.inbox.totals() == {"F": 30}

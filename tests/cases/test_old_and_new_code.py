"""Old and new code: a digest names what is executed, and whoever does not declare it lets its jobs alone."""

import logging
from pathlib import Path
from typing import Any

import pytest

from control.explain import why_flow, why_job
from runtime.protocol.records import Worker
from runtime.store.explain import coverage
from runtime.store.store import Store
from tests.cases.looking import counted, fields, in_state, job, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context

POLLS = 50


class Called:
    """Which handlers were called for which job."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def app(self, *names: str) -> App:
        """An app with handlers of these names, each noting its calls."""
        app = App("shop", abi="cases/1")
        for name in names:
            app.step(name=name)(self._handler(name))
        return app

    def of(self, job: str) -> list[str]:
        """The handlers called for a job."""
        return [name for called, name in self.calls if called == job]

    def _handler(self, name: str) -> Any:
        async def handler(ctx: Context, **_: Any) -> str:
            self.calls.append((ctx.id, name))
            return name

        return handler


async def first_step(app: App, store: Store, name: str) -> None:
    """Commit a job's first step, as a worker of this app does that then ends."""
    worker = Worker.declaring("old", *app.manifests)
    (claim,) = (await store.claim(1, worker)).claims
    assert claim.token.job == name
    await store.commit_step(claim.token, "reserve", worker=worker)


async def test_c73_a_deploy_of_other_code_does_not_strand_a_job_under_way(store: Store, db: Path) -> None:
    old, new = Called(), Called()
    before = old.app("reserve", "charge")
    d1 = before.manifest([("reserve", "reserve"), ("charge", "charge", {"fee": 1, "unit": "cent"})])
    await prepared(before, store)
    await store.admit("shop", "J", 1, flow="F")
    await store.admit("shop", "later", 1, flow="F")
    await first_step(before, store, "J")
    after = new.app("mail", "charge", "reserve")  # other functions, other order, more of them
    after.manifest([("mail", "mail")], workflow="letters")
    again = after.manifest([("reserve", "reserve"), ("charge", "charge", {"unit": "cent", "fee": 1})])
    assert again.digest == d1.digest
    assert (await store.register(again)).verdict == "known"
    async with inside(after, db) as running:
        (cover,) = [cover for cover in await coverage(store) if cover.digest == d1.digest]
        assert cover.workers == (running.worker,)
        await until(counted(store, "done", 2))
    assert await fields(store, "J", "state", "cursor", "current_digest") == ["done", 2, d1.digest]
    assert [effect.step for effect in await store.effects("J")] == [0, 1]
    assert (old.calls, new.of("J")) == ([], ["charge"])
    assert {(route.workflow, route.revision) for route in (await store.snapshot()).routes} == {
        ("letters", 1),
        ("shop", 1),
    }


async def test_c74_a_renamed_step_is_another_definition_and_matches_nothing_of_the_old(store: Store, db: Path) -> None:
    called = Called()
    old, new = called.app("reserve", "charge"), called.app("reserve", "bill")
    both = called.app("reserve", "charge", "bill")
    d1 = old.manifest([("reserve", "reserve"), ("charge", "charge")])
    d2 = new.manifest([("reserve", "reserve"), ("bill", "bill")])
    assert d1.digest != d2.digest
    await prepared(old, store)
    await store.admit("shop", "J", 1, flow="F")
    await store.admit("shop", "behind", 1, flow="F")
    await first_step(old, store, "J")
    standing = await fields(store, "J", "generation", "attempts")
    async with inside(new, db):
        await store.switch(d2.digest, 1)
        await store.admit("shop", "new", 1, flow="G")
        await until(in_state(store, "new", "done"))
        assert await fields(store, "J", "generation", "attempts", "state") == [*standing, "ready"]
        for why in (await why_job(store, "J"), await why_flow(store, "F")):
            assert why is not None
            assert f"no live worker declares {d1.digest[:12]}" in why.summary
    assert called.of("new") == ["reserve", "bill"]
    assert called.of("J") == []
    both.declare(d1)
    both.declare(d2, current=True)
    async with inside(both, db):
        await until(in_state(store, "behind", "done"))
    assert called.of("J") == ["charge"]
    assert [effect.name for effect in await store.effects("J")] == ["reserve", "charge"]
    assert {effect.digest for effect in await store.effects("J")} == {d1.digest}


async def test_c75_a_job_of_an_undeclared_digest_is_let_alone_quietly(
    store: Store, db: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = Called()
    known, unknown = called.app("known"), called.app("unknown")
    known.manifest([("only", "known")], workflow="known")
    unknown.manifest([("only", "unknown")], workflow="unknown")
    await prepared(known, store)
    await prepared(unknown, store)
    await store.admit("unknown", "J", 1, flow="F")
    await store.admit("known", "follower", 1, flow="F")
    looks = 0
    look = Store.look

    async def counting(self: Store, worker: Worker) -> Any:
        nonlocal looks
        looks += 1
        return await look(self, worker)

    monkeypatch.setattr(Store, "look", counting)
    with caplog.at_level(logging.DEBUG, "keepstep"):
        async with inside(known, db):
            number = 0
            while looks < POLLS:
                number += 1
                await store.admit("known", f"other-{number}", 1)
                await until(in_state(store, f"other-{number}", "done"))
            assert [record.getMessage() for record in caplog.records] == []
            assert await fields(store, "J", "generation", "attempts", "state") == [0, 0, "ready"]
            assert (await job(store, "follower")).state == "ready"
            async with inside(unknown, db):
                await until(in_state(store, "J", "done"))
                await until(in_state(store, "follower", "done"))
    assert [called.of(name) for name in ("J", "follower")] == [["unknown"], ["known"]]

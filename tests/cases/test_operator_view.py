"""Operator view: every cause by name, lists and totals that agree, and who is gone."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio

from runtime.protocol.records import Admission, Worker
from runtime.store.picture import Picture, picture
from runtime.store.store import Store
from tests.cases import apps, odd
from tests.cases.looking import counted, prepared
from tests.cases.notes import begun, until
from tests.cases.pool import command, inside, pool, terminal
from workers import App, Context

ODD = "tests.cases.odd:app"
LEASE_S = 2.0
SAMPLES = 200
CAUSES = {"J": "undeclared", "K": "quarantined", "M": "waiting"}


def documents(text: str) -> list[Any]:
    """The JSON documents in a terminal's output, one after another; the last line has the exit codes."""
    found, decoder = [], json.JSONDecoder()
    text = text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:].lstrip()
    return found


async def blocked(store: Store) -> None:
    """One job that nobody declares, one that is quarantined, one that backs off."""
    await prepared(apps.app, store)
    await prepared(odd.app, store)
    worker = Worker.declaring("w", *apps.app.manifests)
    await store.admit_many([Admission("echo", name, 1, name) for name in "KM"])
    claims = {claim.token.job: claim.token for claim in (await store.claim(2, worker)).claims}
    await store.quarantine(claims["K"], "the account is closed")
    await store.fail(claims["M"], "no answer", after=600_000)
    await store.admit("stubborn", "J", {"gate": "never"}, flow="J")


async def test_c88_every_job_that_holds_up_a_drain_is_named_with_its_cause(store: Store, db: Path) -> None:
    await blocked(store)
    async with inside(apps.app, db):
        shows = [["jobs", "show", name, "-o", "json"] for name in CAUSES]
        lines = [["why", "drain", "-o", "json"], ["jobs", "list", "-o", "json"], *shows]
        ended = await terminal(db, *lines)
        text = await terminal(db, ["why", "drain"], ["jobs", "list"])
    assert (ended.returncode, text.returncode) == (0, 0)
    why, listed, *shown, _codes = documents(ended.stdout.decode())
    assert {item["job"]["job"]: item["job"]["cause"] for item in why["jobs"]} == CAUSES
    assert all(item["job"]["since"] > 0 for item in why["jobs"])
    assert sum(cause["jobs"] for cause in why["causes"]) == why["unfinished"] == len(CAUSES)
    (undeclared,) = [item for item in why["jobs"] if item["job"]["job"] == "J"]
    stubborn = next(manifest for manifest in odd.app.manifests if manifest.name == "stubborn")
    assert (undeclared["job"]["digest"], undeclared["job"]["workflow"]) == (stubborn.digest, "stubborn")
    assert stubborn.digest[:12] in undeclared["text"]
    assert {job["id"] for job in listed} == set(CAUSES)
    words = {"J": "no live worker declares", "K": "the account is closed", "M": "backing off"}
    for name, life in zip(CAUSES, shown, strict=True):
        assert words[name] in life["why"]
        assert words[name] in text.stdout.decode()


def agrees(taken: Picture) -> None:
    """What is counted in one way is counted so in every other."""
    shot = taken.snapshot
    unfinished = sum(number for state, number in shot.jobs.items() if state != "done")
    assert sum(shot.unfinished_by_definition.values()) == unfinished
    assert taken.unfinished_in_named + taken.unfinished_elsewhere == unfinished
    assert sum(flow.unfinished for flow in shot.flows) == taken.unfinished_in_named
    assert len(taken.inflight) == shot.jobs["inflight"]
    assert sum(cover.unfinished for cover in taken.coverage) == unfinished
    assert shot.taken_at > 0


async def test_c89_totals_flows_and_lists_agree_in_every_sample(store: Store, db: Path) -> None:
    app = App("load", abi="cases/1")
    states: Counter[str] = Counter()

    @app.step
    async def work(ctx: Context) -> None:
        await anyio.sleep(0.005)

    app.manifest([("one", work)])
    await prepared(app, store)
    jobs = [Admission("load", f"job-{n}", n, f"flow-{n % 20}" if n % 2 else None) for n in range(3_000)]
    async with inside(app, db, concurrency=8):
        await store.admit_many(jobs)
        for _ in range(SAMPLES):
            await anyio.sleep(0.005)
            taken = await picture(store)
            agrees(taken)
            states.update(state for state, number in taken.snapshot.jobs.items() if number)
        (shown,) = documents((await command(db, "status", "-o", "json")).stdout.decode())
        assert len(shown["inflight"]) == shown["jobs"]["inflight"]
        assert shown["unfinished"] == sum(n for state, n in shown["jobs"].items() if state != "done")
        assert shown["taken"].endswith("Z")
    assert min(states[state] for state in ("ready", "inflight", "done")) > SAMPLES / 4


async def test_c90_jobs_of_a_process_that_is_gone_are_shown_as_such(store: Store, db: Path) -> None:
    await prepared(odd.app, store)
    await store.admit_many([Admission("two-seconds", name, {"gate": "never"}, name) for name in ("J1", "J2")])
    async with pool(db, app=ODD) as running:
        await until(begun(db.parent, 2))
        await running.kill()
        killed_at = anyio.current_time()
    (now,) = documents((await command(db, "status", "-o", "json")).stdout.decode())
    (worker,) = [row["worker"] for row in now["workers"]]
    assert now["jobs"]["inflight"] == len(now["inflight"]) == 2
    for flight in now["inflight"]:
        assert flight["worker"] == worker
        if anyio.current_time() - killed_at < LEASE_S / 2:
            assert (flight["lapsed"], flight["lease_left"] > 0) == (False, True)

    async def gone() -> bool:
        return not any(flight.worker_alive for flight in (await picture(store)).inflight)

    await until(gone, within_s=killed_at + 2 * LEASE_S - anyio.current_time())
    (later,) = documents((await command(db, "status", "-o", "json")).stdout.decode())
    assert later["jobs"]["inflight"] == 2
    assert [(flight["lapsed"], flight["worker_alive"]) for flight in later["inflight"]] == [(True, False)] * 2
    assert [row["live"] for row in later["workers"]] == [False]
    why = await terminal(db, ["why", "job", "J1"])
    assert "lease lapsed" in why.stdout.decode()
    assert "that worker is gone" in why.stdout.decode()
    assert await counted(store, "inflight", 2)()

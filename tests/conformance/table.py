"""A job brought into each state of table T, in a store of its own, in a flow or without one."""

from pathlib import Path

from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Token, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store
from tests.conformance.photograph import Photograph, photograph


def manifest_of(name: str, lapse: OnLapse, *, steps: int, budget: int = 2) -> Manifest:
    """A manifest of so many steps under one policy."""
    policy: dict[str, int] = {"budget": budget, "base": 4, "ceiling": 8, "lease": 5, "time_limit": 1_000}
    return Manifest(
        "table", "t/1", tuple(Step(f"{name}{index}", "op", {}, on_lapse=lapse, **policy) for index in range(steps))
    )


RETRY, HOLD = OnLapse.RETRY, OnLapse.HOLD
ONE, TWO = manifest_of("one", RETRY, steps=1), manifest_of("two", RETRY, steps=2)
HELD_ONE, HELD_TWO = manifest_of("held", HOLD, steps=1), manifest_of("heldtwo", HOLD, steps=2)
TARGET = manifest_of("target", RETRY, steps=3)
WORKER = Worker.declaring("w", ONE, TWO, HELD_ONE, HELD_TWO, TARGET)

FLOW: str | None = "f"
LIVE, LAPSED = 5, 6  # claimed at 0 with a lease of 5
STATES = (
    "ready",
    "backing off",
    "live, retry",
    "live, hold",
    "lapsed, retry",
    "lapsed, hold",
    "swept",
    "swept and spent",
    "quarantined",
    "done",
)


async def opened(path: Path, manifest: Manifest) -> Store:
    """A store with job j of a manifest, in flow `FLOW`."""
    store = await Store.open(path / "states.db", clock="logical", store_id="t", durability="normal")
    for one in (ONE, TWO, HELD_ONE, HELD_TWO, TARGET):
        await store.register(one, now=0)
    await store.switch(manifest.digest, 0, now=0)
    await store.admit("table", "j", {"n": 1}, flow=FLOW, now=0)
    return store


async def arrange(store: Store, state: str) -> int:
    """Bring job j into a state; the tick at which it is in it."""
    if state == "ready":
        return 0
    token = await claimed(store, 0)
    if state == "backing off":
        await store.fail(token, "first", now=0)
        return 1
    if state == "quarantined":
        await store.quarantine(token, "broken", now=0)
        return 1
    if state == "done":
        while (answer := await store.commit_step(token, 1, worker=WORKER, now=0)).verdict == "advanced":
            token = await claimed(store, 0)
        assert answer.verdict == "done"
        return 1
    if state == "swept":
        assert await store.sweep(now=LAPSED) == 1
    elif state == "swept and spent":
        await store.fail(token, "first", after=0, now=0)
        await claimed(store, 0)
        assert await store.sweep(now=LAPSED) == 1
    return LAPSED if state.startswith(("lapsed", "swept")) else LIVE


async def claimed(store: Store, now: int) -> Token:
    """The token of the one job that can be claimed."""
    (claim,) = (await store.claim(1, WORKER, now=now)).claims
    return claim.token


def policy_of(state: str, retry: Manifest, hold: Manifest) -> Manifest:
    """The manifest that a state asks for."""
    return hold if "hold" in state else retry


async def seen_now(store: Store) -> tuple[Photograph, Token]:
    """What the file shows, and the token that matches the job as it is."""
    seen = await photograph(store)
    job = seen.jobs["j"]
    return seen, Token("j", job["binding"], job["generation"], job["cursor"], job["current"])

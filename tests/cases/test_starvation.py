"""Starvation: a flow with much to do is served in turn, and a flow that cannot go on holds up nobody else."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Admission, Worker
from runtime.store.store import Store
from tests.cases.looking import define, fields, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context

MANY = 1_000
OURS = Manifest("ours", "cases/1", (Step("only", "any", lease=1000, base=1000, ceiling=1000),))
WORKER = Worker.declaring("w", OURS)


async def test_c78_the_noisy_flow_does_not_go_first_to_its_end(store: Store, db: Path) -> None:
    app = App("tenants", abi="cases/1")
    starts: list[str] = []

    @app.step
    async def work(ctx: Context) -> None:
        starts.append(ctx.flow or "")
        await anyio.sleep(0.005)

    app.manifest([("only", work)])
    await prepared(app, store)
    await store.admit_many([Admission("tenants", f"A-{n}", n, "A") for n in range(MANY)])
    async with inside(app, db, concurrency=1):
        await until(lambda: len(starts) >= 10)
        await store.admit("tenants", "B", 1, flow="B")
        before = len(starts)
        await until(lambda: "B" in starts)
        assert starts[before:].index("B") <= 2
        await store.admit_many([Admission("tenants", name, 1, name) for name in "CDE"])
        before = len(starts)
        await until(lambda: set("CDE") <= set(starts))
        assert max(starts[before:].index(name) for name in "CDE") <= 4
    assert starts.count("A") < MANY / 2


async def backing_off(store: Store) -> None:
    """The head backs off."""
    (claim,) = (await store.claim(1, WORKER)).claims
    await store.fail(claim.token, "not now")


async def quarantined(store: Store) -> None:
    """The head is quarantined."""
    (claim,) = (await store.claim(1, WORKER)).claims
    await store.quarantine(claim.token, "for a person")


async def in_flight(store: Store) -> None:
    """The head is in flight."""
    await store.claim(1, WORKER)


async def of_another_digest(store: Store) -> None:
    """The head is bound to a digest that the worker does not declare."""
    await store.migrate("X-0", 0, (await store.register(OTHER)).digest or "", "to show it")


OTHER = Manifest("ours", "cases/2", (Step("only", "any"),))


@pytest.mark.parametrize("block", [backing_off, quarantined, in_flight, of_another_digest])
async def test_c79_a_blocked_flow_blocks_no_other(logical: Store, block: Callable[[Store], Awaitable[None]]) -> None:
    await define(logical, OURS)
    await logical.admit_many([Admission("ours", f"X-{n}", n, "X") for n in range(500)])
    await block(logical)
    await logical.admit_many([Admission("ours", f"{name}-0", 1, name) for name in ("Y1", "Y2", "Y3", "Y4", "Y5")])
    claimed = []
    for _ in range(5):
        (claim,) = (await logical.claim(1, WORKER)).claims
        claimed.append(claim.flow)
    assert claimed == ["Y1", "Y2", "Y3", "Y4", "Y5"]
    assert (await logical.claim(1, WORKER)).claims == ()
    assert await fields(logical, "X-1", "state", "generation") == ["ready", 0]

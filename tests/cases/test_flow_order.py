"""Flow order: a flow's jobs keep their order, also when one of them fails or waits between its steps."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.cases.looking import counted, prepared
from tests.cases.notes import until
from tests.cases.pool import inside
from workers import App, Context, step

WORKERS = 4
ROUNDS = 20


@asynccontextmanager
async def four(app: App, db: Path) -> AsyncIterator[None]:
    """Four workers, each with its own store and one place."""
    async with AsyncExitStack() as stack:
        for _ in range(WORKERS):
            await stack.enter_async_context(inside(app, db, concurrency=1))
        yield


async def test_c76_a_job_that_is_tried_again_stays_before_its_followers(store: Store, db: Path) -> None:
    app = App("flow", abi="cases/1")
    starts: list[str] = []
    running, most = 0, 0

    @app.step
    async def work(ctx: Context) -> None:
        nonlocal running, most
        starts.append(ctx.id)
        running += 1
        most = max(most, running)
        try:
            await anyio.sleep(0.01)
            if ctx.id == "A" and ctx.attempt < 3:
                raise RuntimeError("not yet")
        finally:
            running -= 1

    app.manifest([step("only", work, budget=3, base="50ms", ceiling="100ms")])
    await prepared(app, store)
    async with four(app, db):
        await store.admit_many([Admission("flow", name, 1, "F") for name in "ABC"])
        await until(counted(store, "done", 3))
    assert starts == ["A", "A", "A", "B", "C"]
    assert most == 1


async def test_c77_a_job_between_two_steps_still_blocks_its_followers(store: Store, db: Path) -> None:
    app = App("two", abi="cases/1")
    calls: list[tuple[str, str]] = []

    @app.step
    async def work(ctx: Context) -> None:
        calls.append((ctx.id, ctx.step))
        await anyio.lowlevel.checkpoint()

    app.manifest([("first", work), ("second", work)])
    app.manifest([("only", work)], workflow="one")
    await prepared(app, store)
    between = 0
    async with four(app, db):
        for number in range(ROUNDS):
            calls.clear()
            jobs = [Admission("two", f"J1-{number}", 1, "F"), Admission("one", f"J2-{number}", 1, "F")]
            others = [Admission("one", f"G-{number}-{n}", 1, "G") for n in range(5)]
            await store.admit_many([*jobs, *others])
            await until(counted(store, "done", 7 * (number + 1)))
            own = [(name[:2], place) for name, place in calls if not name.startswith("G")]
            assert own == [("J1", "first"), ("J1", "second"), ("J2", "only")]
            order = [name[:2] for name, _ in calls]
            first, second = [place for place, name in enumerate(order) if name == "J1"]
            between += "G-" in order[first:second]
    assert between > 0  # a step is one opportunity: the other flow runs in between

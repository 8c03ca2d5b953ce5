"""The same pool inside somebody's own program: `connect` to a file, `run` an app's jobs. A composition root.

    stop = runtime.Stop(grace_s=20)
    async with runtime.connect("app.db") as store, anyio.create_task_group() as group:
        group.start_soon(partial(runtime.run, app, store, stop=stop))
        ...                                   # the program itself: app.admit(store, …), store.wait_done(…)
        stop.ask("the program ends")          # steps at work finish, then the task group ends

`demos/README.md` has it for a web program. Wait for a job with `store.wait_done(id)`; write rows of your own and
admissions together with `store.write([…], admit=[…])`.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from control.barrier import Barrier
from runtime.host import Host, Settings
from runtime.protocol.errors import InvalidValue
from runtime.protocol.manifest import Manifest
from runtime.stopping import Stop
from runtime.store.store import Store
from workers.worker import Worker

if TYPE_CHECKING:
    from workers.app import App

SHORTEST_LEASE_MS = 300


@asynccontextmanager
async def connect(
    path: str | os.PathLike[str],
    *,
    clock: str = "wall",
    create: bool = True,
    durability: str = "full",
    deadline_ms: int = 10_000,
) -> AsyncIterator[Store]:
    """`async with connect("app.db") as store`: the store of a file, closed at the end. See `Store.open`."""
    store = await Store.open(path, clock=clock, create=create, durability=durability, deadline_ms=deadline_ms)
    try:
        yield store
    finally:
        await store.close()


async def run(
    app: "App",
    store: Store,
    *,
    concurrency: int = 32,
    until_idle: bool = False,
    max_jobs: int | None = None,
    grace_s: float = 30.0,
    hard_limit_s: float = 10.0,
    poll_ms: int = 20,
    stop: Stop | None = None,
    owns_process: bool = False,
    target: str | None = None,
    durability: str = "full",
    on_ready: Callable[[str], None] = lambda worker: None,
) -> None:
    """Run an app's jobs until cancelled, told to (`stop.ask()`), idle (`until_idle`), or done with `max_jobs` jobs.

    At its start it creates the app's own tables, registers its manifests, and sets a route where a workflow has none.
    Cancelling it cancels the handlers and hands their claims back. `owns_process`: TERM and INT ask to stop, and the
    hard limit ends the process. `on_ready` gets the worker's id once the pool serves. Raises `HandlerMismatch` if a
    manifest does not fit the handlers, `InvalidValue` for a lease that is too short, `StoreError` for a store that can
    no longer be served.
    """
    stop = stop or Stop(grace_s, hard_limit_s)
    logical = store.clock == "logical"
    if not logical:
        _check_leases(app.manifests)
    settings = Settings(
        concurrency=concurrency,
        poll_ms=poll_ms,
        max_jobs=max_jobs,
        until_idle=until_idle,
        logical=logical,
        watched=f"{store.path}-turn",
        owns_process=owns_process,
    )

    async def open_keeper_desk() -> Store:
        return await Store.open(store.path, create=False, durability=durability)

    worker = Worker(
        app, store, store_id=store.store_id, concurrency=concurrency, clock=store.clock, target=target
    )
    async with worker:
        await app.prepare(store)
        host = Host(
            store,
            open_keeper_desk,
            worker,
            Barrier(store),
            settings,
            stop,
            on_ready=lambda: on_ready(worker.worker.id),
        )
        await host.run()


def _check_leases(manifests: list[Manifest]) -> None:
    for manifest in manifests:
        for step in manifest.steps:
            if step.lease < SHORTEST_LEASE_MS:
                raise InvalidValue(
                    f"lease of step {step.name!r} of {manifest.name!r}",
                    f"at least {SHORTEST_LEASE_MS} ms are expected, so that it is renewed in time; got {step.lease} ms",
                )

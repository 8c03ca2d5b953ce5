"""What a case looks at in a store."""

from collections.abc import Callable, Coroutine
from typing import Any

from runtime.protocol.manifest import Manifest
from runtime.protocol.records import JobRecord
from runtime.store.store import Store
from workers import App


async def job(store: Store, name: str) -> JobRecord:
    """A job that must be there."""
    record = await store.job(name)
    assert record is not None, f"job {name} was expected"
    return record


async def fields(store: Store, name: str, *names: str) -> list[Any]:
    """Some fields of a job."""
    record = await job(store, name)
    return [getattr(record, field) for field in names]


def in_state(store: Store, name: str, state: str) -> Callable[[], Coroutine[Any, Any, JobRecord | None]]:
    """A condition for `until`: the job's record once it is in that state."""

    async def look() -> JobRecord | None:
        record = await job(store, name)
        return record if record.state == state else None

    return look


def counted(store: Store, state: str, number: int) -> Callable[[], Coroutine[Any, Any, bool]]:
    """A condition for `until`: so many jobs are in that state."""

    async def look() -> bool:
        return (await store.snapshot()).jobs[state] == number

    return look


async def count(store: Store, *states: str) -> int:
    """How many jobs are in these states; without any, in all."""
    jobs = (await store.snapshot()).jobs
    return sum(jobs[state] for state in states or jobs)


async def happened(store: Store, name: str) -> list[str]:
    """What a job's history says, without the whys."""
    return [row.what for row in await store.history(name)]


async def define(store: Store, *manifests: Manifest) -> None:
    """Register, and route each workflow to its manifest."""
    await store.register_many(manifests)
    for manifest in manifests:
        await store.switch(manifest.digest, 0)


async def prepared(app: App, store: Store) -> App:
    """The app, registered and routed, as a pool does at its start."""
    await app.prepare(store)
    return app

"""What the agent's story looks at: the index that is searched, jobs, definitions, and what is waited for."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import anyio
from rich.console import Console

import workers
from demos.agent.app import Agent
from demos.library.run import library
from demos.story import Teller
from runtime.embed import connect
from runtime.protocol.errors import InvalidValue, KeepstepError, WriteFailed
from runtime.protocol.records import Answer, JobRecord
from runtime.protocol.verdicts import State
from runtime.store.store import Store

LOOK_S = 0.05
BEFORE_APPROVAL = ("turn 4", "check")


@asynccontextmanager
async def index(path: Path | None, folder: Path) -> AsyncIterator[tuple[Store, str]]:
    """The library's index: the one of `path` if it is there, or a small one of this program's own source files."""
    small = path is None or not await anyio.Path(path).exists()
    place = folder / "library.db" if path is None or small else path
    if small:
        quiet = Console(file=StringIO())
        sources = await anyio.Path(workers.__path__[0]).resolve()
        await library(str(sources), str(await anyio.Path(place).resolve()), out=quiet, err=quiet)
    async with connect(place, create=False) as store:
        try:
            await store.query("select count(*) from library_text")
        except WriteFailed:
            told = f"{place} holds no library: `demo library --db {place}` makes one, or leave the option out"
            raise InvalidValue("--library", told) from None
        yield store, "a small index, made now of this program's own files" if small else f"the library in {place}"


class Story:
    """One telling, over a file. `agents(versions)` makes an agent that declares these."""

    def __init__(self, teller: Teller, store: Store, agents: Callable[[tuple[str, ...]], Agent], db: Path) -> None:
        self.teller, self.store, self.agents, self.db = teller, store, agents, db
        self._names = {manifest.digest: name for name, manifest in agents(("v1", "v2")).manifests.items()}

    def version(self, digest: str) -> str:
        """A definition as people call it."""
        return self._names.get(digest, digest[:12])

    def saw(self, command: str, answer: Answer) -> None:
        """A command's answer."""
        self.teller.saw(command, f"{answer.verdict}: {answer.cause}" if answer.cause else answer.verdict)

    async def job(self, name: str) -> JobRecord:
        """A job that is known to be there."""
        found = await self.store.job(name)
        assert found is not None
        return found

    async def effects(self, name: str) -> dict[str, object]:
        """A job's values by step."""
        return {effect.name: effect.value for effect in await self.store.effects(name)}

    async def wait(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Until something holds; other processes may bring it about, so it is looked for."""
        while not await holds():  # noqa: ASYNC110
            await anyio.sleep(LOOK_S)

    async def routed(self) -> bool:
        """Whether new questions go anywhere yet."""
        return any(route.workflow == "agent" for route in (await self.store.snapshot()).routes)

    async def covered(self, digest: str) -> bool:
        """Whether a live worker declares a definition."""
        return any(digest in worker.digests and worker.live for worker in await self.store.workers())

    async def asked(self, name: str, looks: int = 1) -> bool:
        """Whether a job has looked for its approval so often, or is beyond it."""
        job, effects = await self._sound(name), await self.effects(name)
        at_it = bool(effects) and list(effects)[-1] in BEFORE_APPROVAL and job.attempts >= looks
        return at_it or "approval" in effects

    async def decided(self, name: str) -> bool:
        """Whether a person's word about a job has been taken up."""
        await self._sound(name)
        return "approval" in await self.effects(name)

    async def ended(self, name: str) -> bool:
        """Whether a job is done, or quarantined."""
        return (await self.job(name)).state in (State.DONE, State.QUARANTINED)

    async def _sound(self, name: str) -> JobRecord:
        job = await self.job(name)
        if job.state is State.QUARANTINED and "report" not in await self.effects(name):
            again = f"`redrive {name} --reason … --db {self.db}` sends it on, then tell the story again"
            raise KeepstepError(f"{name} is quarantined ({job.reason}): {again}")
        return job

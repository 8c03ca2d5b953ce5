"""Scenes in which a process ends at a point: a test plays them at every point of every verb, `demo crash` at one.

A scene is played in a folder with a store, `queue.db`; what it looks at is that file, or another one beside it.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from demos.scenarios import child, gate
from demos.scenarios.cases import CASES, ONE, V1, V2, Arguments, Case
from demos.scenarios.stage import Seen, tables
from demos.scenarios.world import STORE_ID
from runtime.protocol.receive import Receipt
from runtime.protocol.records import Answer, Claims
from runtime.store.inbox import Inbox
from runtime.store.reads import Reads
from runtime.store.sqlite import Files, open_reader
from runtime.store.store import Store

QUEUE, RECEIVER, NEW = "queue.db", "receiver.db", "new.db"
EVENT = {"event_id": "a1", "flow": "a", "seq": 1, "body": {"delta": 10}}
TABLES = "select name from sqlite_schema where type = 'table'"
OWN_TABLES = TABLES + " and name not like 'keepstep%' and name not like 'sqlite%'"


class Scene(NamedTuple):
    """`tells` is what is there, in words; `prepare` makes it and gives the call's arguments. `first` is its word,
    `again` the word of its repeat once it was committed. `look` reads `file` on a fresh connection."""

    verb: str
    tells: str
    prepare: Callable[[Path], Awaitable[Arguments]]
    first: str
    again: str
    file: str
    look: Callable[[Path], Awaitable[Seen]]

    async def call(self, folder: Path, arguments: Arguments) -> str:
        """The call in this process; its word."""
        async with await opened(folder / QUEUE) as store:
            return said(await child.make(store, self.verb, arguments))

    async def crash(self, folder: Path, point: str, arguments: Arguments) -> int:
        """The call in a child that is armed to end at the point; its exit code."""
        return await gate.crash(folder / QUEUE, point, self.verb, **arguments)


async def opened(path: Path) -> Store:
    """A store on a fresh connection."""
    return await Store.open(path, clock="logical", store_id=STORE_ID)


def said(answer: object) -> str:
    """An answer as one word."""
    if isinstance(answer, list):
        (answer,) = answer
    if isinstance(answer, (Answer, Receipt)):
        return str(answer.verdict)
    return f"{len(answer.claims)} claimed" if isinstance(answer, Claims) else str(answer)


async def of_case(case: Case, folder: Path) -> Arguments:
    """A store with definitions, in the state of the case."""
    async with await opened(folder / QUEUE) as store:
        await store.register_many([V1, V2, ONE], now=0)
        for manifest in (V1, ONE):
            await store.switch(manifest.digest, 0, now=0)
        return await case.prepare(store)


async def with_receiver(folder: Path, **arguments: Any) -> Arguments:
    """A receiver that has got nothing yet."""
    async with await opened(folder / QUEUE), await Inbox.open(folder / RECEIVER):
        return {"inbox": RECEIVER, **arguments}


async def with_nothing(folder: Path, **arguments: Any) -> Arguments:
    """No file of the name that the call opens."""
    async with await opened(folder / QUEUE):
        return arguments


async def of_store(path: Path) -> Seen:
    """Every table of a store, an app's own ones too."""
    async with await opened(path) as store:
        found = tables(await store.dump())
        for (name,) in await store.query(OWN_TABLES):
            found[name] = await store.query("select * from " + name)
        return found


async def of_receiver(path: Path) -> Seen:
    """Every table of a receiver."""
    async with await Inbox.open(path) as inbox:
        return await inbox.dump()


def is_missing(path: Path) -> bool:
    """Whether there is no such file."""
    return not path.exists()


async def if_made(look: Callable[[Path], Awaitable[Seen]], path: Path) -> Seen:
    """Every table of a file that may have none: opening it as what it is would make them."""
    if is_missing(path):
        return {}
    files = Files.check(path, create=False)
    reader = await open_reader(files)
    try:
        made = await Reads(files, reader, "", "").query(TABLES)
    finally:
        await reader.close()
    return await look(path) if made else {}


def _told(prepare: Callable[..., Awaitable[Arguments]]) -> str:
    return " ".join((prepare.__doc__ or "").split())


def _scene(case: Case) -> Scene:
    return Scene(case.verb, _told(case.prepare), partial(of_case, case), case.first, case.again, QUEUE, of_store)


def _of_receiver(verb: str, first: str, again: str, **arguments: Any) -> Scene:
    prepare = partial(with_receiver, **arguments)
    return Scene(verb, _told(with_receiver), prepare, first, again, RECEIVER, of_receiver)


def _of_new(verb: str, look: Callable[[Path], Awaitable[Seen]], **arguments: Any) -> Scene:
    prepare = partial(with_nothing, **arguments)
    return Scene(verb, _told(with_nothing), prepare, "opened", "opened", NEW, partial(if_made, look))


SCENES = (
    *map(_scene, CASES),
    _of_receiver("receive", "accepted", "duplicate", **EVENT),
    _of_receiver("set_max_delta", "None", "None", value=5),
    _of_new("upgrade", of_store, file=NEW, clock="logical", store_id=STORE_ID),
    _of_new("upgrade_inbox", of_receiver, inbox=NEW),
)

"""Store: the asynchronous face of one database file.

Every verb has a batch form (`…_many`) and a single form. A method hands a request to the writer and awaits its answers,
which come only after the commit. In a batch a bad item has an `ItemError` in its place; a single form raises it.
`now` is a tick on a logical clock (default: the stored one); on the wall clock it is left out.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, cast

from anyio import CancelScope

from runtime.protocol.canonical import check_integer, check_name
from runtime.protocol.errors import InvalidValue, NoSuchJob, StoreError
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import (
    Admission,
    Answer,
    Callback,
    ClaimRequest,
    Claims,
    Commit,
    Finished,
    Renewal,
    Switch,
    Token,
    Worker,
    Write,
)
from runtime.protocol.verdicts import State
from runtime.store.operators import Operators
from runtime.store.reads import Watch
from runtime.store.requests import Answers
from runtime.store.sqlite import Files, open_reader, open_writer
from runtime.store.transaction import SWEEP_LIMIT
from runtime.store.upgrade import prepare
from runtime.store.writer import Writer

LOOK_S = 0.02


class Store(Operators):
    """One database file, opened by one process; make it with `await Store.open(path)` and `await store.close()`."""

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        *,
        clock: str = "wall",
        store_id: str | None = None,
        create: bool = True,
        durability: str = "full",
        deadline_ms: int = 10_000,
        sweep_limit: int = SWEEP_LIMIT,
    ) -> "Store":
        """Open a file; a missing one is created (0600) if `create`. `clock` and `store_id` count only at creation.
        `sweep_limit`: how many due jobs one sweep moves at most, on the wall clock.

        Raises `UnsafePath`, `ForeignFile`, `NewerSchema`, `StoreBusy` or another `StoreError`; what is refused is left
        untouched. An existing store is never reset.
        """
        if clock not in ("wall", "logical"):
            raise InvalidValue("clock", f"'wall' or 'logical' is expected, got {clock!r}")
        if store_id is not None:
            check_name(store_id, "store_id")
        check_integer(sweep_limit, "sweep_limit", least=1)
        files = Files.check(path, create=create)
        try:
            connection = await open_writer(files, durability=durability, deadline_ms=deadline_ms)
        except StoreError:
            files.remove_empty()
            raise
        try:
            identity = await connection.run(prepare(files, clock=clock, store_id=store_id, deadline_ms=deadline_ms))
            reader = await open_reader(files)
        except BaseException:
            await connection.close()
            raise
        try:
            writer = Writer(connection, files, deadline_ms=deadline_ms, sweep_limit=sweep_limit)
        except BaseException:
            await reader.close()
            await connection.close()
            raise
        return cls(files, writer, reader, *identity)

    async def close(self) -> None:
        """Finish what was handed over, then close both connections, also while the caller is being cancelled.

        In a child process after a fork there is nothing to close.
        """
        if os.getpid() != self._opened_by:
            return
        with CancelScope(shield=True):
            async with self._closing:
                try:
                    await self._writer.close()
                finally:
                    await self._reader.close()

    async def __aenter__(self) -> "Store":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` on the event loop after each commit of this process; returns how to stop that."""
        return self._writer.subscribe(callback)

    @property
    def failed(self) -> BaseException | None:
        """Why this store is no longer served by this process (an unknown outcome), or None."""
        return self._writer.failed

    # definitions

    async def register(self, manifest: Manifest, *, now: int | None = None) -> Answer:
        """`registered` or `known`; the answer carries the digest."""
        return await self._one("register", manifest, now)

    async def register_many(self, manifests: Sequence[Manifest], *, now: int | None = None) -> Answers:
        """The batch form of `register`."""
        return await self._many("register", manifests, now)

    async def switch(
        self,
        digest: str,
        expected_revision: int,
        *,
        reason: str | None = None,
        actor: str = "operator",
        command_id: str | None = None,
        now: int | None = None,
    ) -> Answer:
        """`switched` (with the new revision), `stale`, or `refused` for a digest that is not registered."""
        return await self._one("switch", Switch(digest, expected_revision, reason, actor, command_id), now)

    async def switch_many(self, items: Sequence[Switch], *, now: int | None = None) -> Answers:
        """The batch form of `switch`."""
        return await self._many("switch", items, now)

    # admission

    async def admit(
        self,
        workflow: str,
        id: str,  # noqa: A002  the contract's own word
        payload: Any,
        *,
        flow: str | None = None,
        width: int | None = None,
        now: int | None = None,
    ) -> Answer:
        """`accepted`, `replay`, `conflict` (with the field), `closed` or `full`; the first two carry the record."""
        return await self._one("admit", Admission(workflow, id, payload, flow, width), now)

    async def admit_many(self, items: Sequence[Admission], *, now: int | None = None) -> Answers:
        """The batch form of `admit`: one transaction, judged in the order given."""
        return await self._many("admit", items, now)

    # claims and callbacks

    async def claim(self, limit: int, worker: Worker, *, now: int | None = None) -> Claims:
        """Up to `limit` fair claims of what the worker declares, with the barrier's mode."""
        return cast(Claims, await self._single("claim", ClaimRequest(limit, worker), now))

    async def commit_step(
        self, token: Token, value: Any, *, worker: Worker, writes: Sequence[Write] = (), now: int | None = None
    ) -> Answer:
        """`advanced`, `done`, `stale`, `expired` or `unknown`."""
        return await self._one("commit_step", Commit(token, value, worker, writes), now)

    async def commit_step_many(self, items: Sequence[Commit], *, now: int | None = None) -> Answers:
        """The batch form of `commit_step`."""
        return await self._many("commit_step", items, now)

    async def fail(
        self, token: Token, reason: str, *, after: int | None = None, worker: str | None = None, now: int | None = None
    ) -> Answer:
        """`retry` (with `due`), `quarantined`, `stale`, `expired` or `unknown`."""
        return await self._one("fail", Callback(token, reason, worker, after), now)

    async def fail_many(self, items: Sequence[Callback], *, now: int | None = None) -> Answers:
        """The batch form of `fail`."""
        return await self._many("fail", items, now)

    async def release(
        self, token: Token, reason: str, *, worker: str | None = None, now: int | None = None
    ) -> Answer:
        """`released`, `stale`, `expired` or `unknown`."""
        return await self._one("release", Callback(token, reason, worker), now)

    async def release_many(self, items: Sequence[Callback], *, now: int | None = None) -> Answers:
        """The batch form of `release`."""
        return await self._many("release", items, now)

    async def quarantine(
        self, token: Token, reason: str, *, worker: str | None = None, now: int | None = None
    ) -> Answer:
        """A worker gives up at once: `quarantined`, `stale`, `expired` or `unknown`."""
        return await self._one("quarantine", Callback(token, reason, worker), now)

    async def quarantine_many(self, items: Sequence[Callback], *, now: int | None = None) -> Answers:
        """The batch form of `quarantine`."""
        return await self._many("quarantine", items, now)

    async def renew(self, token: Token, *, worker: str | None = None, now: int | None = None) -> Answer:
        """`renewed` (with `lease_until`), `stale`, `expired` or `unknown`."""
        return await self._one("renew", Renewal(token, worker), now)

    async def renew_many(self, items: Sequence[Renewal], *, now: int | None = None) -> Answers:
        """The batch form of `renew`."""
        return await self._many("renew", items, now)

    async def sweep(self, *, now: int | None = None) -> int:
        """Move what is due: backoffs that are over, `retry` leases that have lapsed; returns how many jobs moved."""
        return cast(int, await self._single("sweep", None, now))

    # what an app and a pool need

    async def ensure_schema(self, name: str, sql: str) -> bool:
        """Create an app's own tables once, in a transaction of its own; True if this call did."""
        return cast(bool, await self._single("ensure_schema", (name, sql), None))

    async def announce(self, worker: Worker, *, host: str, pid: int, started_at_ms: int) -> None:
        """Say that a worker process lives (wall time); repeated every second, it counts as gone after three."""
        await self._single("announce", (worker, host, pid, started_at_ms), None)

    async def withdraw(self, worker: str) -> None:
        """Say that a worker process has ended."""
        await self._single("withdraw", worker, None)

    async def checkpoint(self) -> None:
        """Move the write-ahead file into the database and empty it, inside a turn."""
        await self._single("checkpoint", None, None)

    async def write(
        self, statements: Sequence[Write | tuple[Any, ...]], *, admit: Sequence[Admission] = (), now: int | None = None
    ) -> Answers:
        """Rows of one's own tables and admissions in one transaction: all of it or nothing; the admissions' answers.

        Raises `WriteFailed` for a statement that is refused or fails, `NotAdmitted` (with the answers) if one of the
        admissions is neither `accepted` nor `replay`.
        """
        item = (tuple(Write(*statement) for statement in statements), tuple(admit))
        return cast(Answers, await self._single("write", item, now))

    async def wait_done(self, id: str, timeout: float | None = None) -> Finished:  # noqa: A002
        """Wait until a job is done and give its record with effects; `result` of it is the last step's value.

        Raises `NoSuchJob`, or `TimeoutError` after `timeout` seconds. A quarantined job is waited for as well.
        """
        changed = asyncio.Event()
        stop = self.subscribe(changed.set)
        watch = Watch(self._files.path)
        try:
            async with asyncio.timeout(timeout):
                while True:
                    changed.clear()
                    watch.moved()
                    found = await self.job(id)
                    if found is None:
                        raise NoSuchJob(id)
                    if found.state is State.DONE:
                        return Finished(found, tuple(await self.effects(id)))
                    await _changed(changed, watch)
        finally:
            stop()

    # how a request goes

    async def settle(
        self,
        *,
        commits: Sequence[Commit] = (),
        failures: Sequence[Callback] = (),
        releases: Sequence[Callback] = (),
        quarantines: Sequence[Callback] = (),
        claim: ClaimRequest | None = None,
    ) -> tuple[Mapping[str, Answers], Claims | None]:
        """A worker pool's turn: outcomes, then a claim, in one transaction. Answers by verb, in the order given.

        A verb whose request failed as a whole has that exception for every item. A caller that is cancelled takes
        nothing: what has not started is withdrawn, claims that nobody takes are released.
        """
        groups = {"commit_step": commits, "fail": failures, "release": releases, "quarantine": quarantines}
        requests = {verb: self._submit(verb, items, None) for verb, items in groups.items() if items}
        asked = self._submit("claim", [claim], None) if claim is not None else None
        self._writer.send()
        try:
            answers = {verb: cast(Answers, await request.outcome()) for verb, request in requests.items()}
            claims = cast(Claims, (await asked.answers())[0]) if asked is not None else None
        except BaseException:
            for request in (*requests.values(), asked):
                if request is not None:
                    request.abandon()
            raise
        return answers, claims


async def _changed(own: asyncio.Event, watch: Watch) -> None:
    """A commit of this process, or a look that finds that another one wrote."""
    while not own.is_set() and not watch.moved():
        with suppress(TimeoutError):
            await asyncio.wait_for(own.wait(), LOOK_S)

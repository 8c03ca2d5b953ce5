"""Store: the asynchronous face of one database file.

Every verb has a batch form (`…_many`) and a single form. A method hands a request to the writer and awaits its answers,
which come only after the commit. In a batch a bad item has an `ItemError` in its place; a single form raises it.
`now` is a tick on a logical clock (default: the stored one); on the wall clock it is left out.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, cast

from runtime.protocol.errors import ItemError, StoreClosed, StoreError
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import (
    Admission,
    Answer,
    Callback,
    ClaimRequest,
    Claims,
    Commit,
    Migration,
    Operation,
    Renewal,
    Setting,
    Switch,
    Token,
    Transition,
    Worker,
    Write,
)
from runtime.store.reads import Reads
from runtime.store.sqlite import Connection, Files, open_reader, open_writer
from runtime.store.upgrade import prepare
from runtime.store.writer import Request, Writer

Answers = list[Answer | ItemError]


class Store(Reads):
    """One database file, opened by one process; make it with `await Store.open(path)` and `await store.close()`."""

    def __init__(self, files: Files, writer: Writer, reader: Connection, store_id: str, clock: str) -> None:
        super().__init__(files, reader, store_id, clock)
        self._writer = writer

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
    ) -> "Store":
        """Open a file; a missing one is created (0600) if `create`. `clock` and `store_id` count only at creation.

        Raises `UnsafePath`, `ForeignFile`, `NewerSchema`, `StoreBusy` or another `StoreError`; what is refused is left
        untouched. An existing store is never reset.
        """
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
        writer = Writer(connection, files, deadline_ms=deadline_ms)
        writer.start()
        return cls(files, writer, reader, *identity)

    async def close(self) -> None:
        """Finish what was handed over, then close both connections."""
        await self._writer.close()
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

    # operators

    async def redrive(
        self,
        job: str,
        generation: int,
        reason: str,
        *,
        to: str | None = None,
        effects_checked: bool = False,
        actor: str = "operator",
        command_id: str | None = None,
        now: int | None = None,
    ) -> Answer:
        """`redriven`, `stale`, `refused` (with the cause) or `unknown`."""
        return await self._one(
            "redrive", Operation(job, generation, reason, to, effects_checked, actor, command_id), now
        )

    async def redrive_many(self, items: Sequence[Operation], *, now: int | None = None) -> Answers:
        """The batch form of `redrive`."""
        return await self._many("redrive", items, now)

    async def recover(
        self,
        job: str,
        generation: int,
        reason: str,
        *,
        to: str | None = None,
        effects_checked: bool = False,
        actor: str = "operator",
        command_id: str | None = None,
        now: int | None = None,
    ) -> Answer:
        """`recovered` (with `live_lease`), `stale`, `refused` (with the cause) or `unknown`."""
        return await self._one(
            "recover", Operation(job, generation, reason, to, effects_checked, actor, command_id), now
        )

    async def recover_many(self, items: Sequence[Operation], *, now: int | None = None) -> Answers:
        """The batch form of `recover`."""
        return await self._many("recover", items, now)

    async def quarantine_job(
        self,
        job: str,
        generation: int,
        reason: str,
        *,
        actor: str = "operator",
        command_id: str | None = None,
        now: int | None = None,
    ) -> Answer:
        """An operator's quarantine: `quarantined`, `stale`, `refused` (with the cause) or `unknown`."""
        item = Operation(job, generation, reason, actor=actor, command_id=command_id)
        return await self._one("quarantine_job", item, now)

    async def quarantine_job_many(self, items: Sequence[Operation], *, now: int | None = None) -> Answers:
        """The batch form of `quarantine_job`."""
        return await self._many("quarantine_job", items, now)

    async def migrate(
        self,
        job: str,
        binding_revision: int,
        digest: str,
        reason: str,
        *,
        effects_checked: bool = False,
        actor: str = "operator",
        command_id: str | None = None,
        now: int | None = None,
    ) -> Answer:
        """`migrated`, `stale`, `refused` (with the cause) or `unknown`."""
        item = Migration(job, binding_revision, digest, reason, effects_checked, actor, command_id)
        return await self._one("migrate", item, now)

    async def migrate_many(self, items: Sequence[Migration], *, now: int | None = None) -> Answers:
        """The batch form of `migrate`."""
        return await self._many("migrate", items, now)

    # the barrier and the settings

    async def transition(
        self,
        action: str,
        expected_version: int,
        *,
        reason: str | None = None,
        actor: str = "operator",
        command_id: str | None = None,
        pause_when_empty: bool = False,
        now: int | None = None,
    ) -> Answer:
        """`drain`, `pause`, `resume`: the new mode, `stale`, `refused`, `busy` or `conflict`, with mode and version."""
        item = Transition(action, expected_version, reason, actor, command_id, pause_when_empty)
        return await self._one("transition", item, now)

    async def set(
        self,
        name: str,
        value: int | str | None,
        reason: str,
        *,
        flow: str | None = None,
        actor: str = "operator",
        command_id: str | None = None,
        now: int | None = None,
    ) -> Answer:
        """`capacity`, `flow_capacity`, `newcomers`, or a flow's `width`: `set`, `refused` or `unknown`."""
        return await self._one("set", Setting(name, value, flow, reason, actor, command_id), now)

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
        await self._writer.checkpoint()

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

        A verb whose request failed as a whole has that exception for every item.
        """
        groups = {"commit_step": commits, "fail": failures, "release": releases, "quarantine": quarantines}
        requests = {verb: self._submit(verb, items, None) for verb, items in groups.items() if items}
        asked = self._submit("claim", [claim], None) if claim is not None else None
        answers = {verb: cast(Answers, await request.outcome()) for verb, request in requests.items()}
        claims = cast(Claims, (await asked.answers())[0]) if asked is not None else None
        return answers, claims

    def _submit(self, verb: str, items: Sequence[Any], now: int | None) -> Request:
        if os.getpid() != self._opened_by:
            raise StoreClosed("this store was opened by another process: open it anew after a fork")
        return self._writer.submit(verb, items, now)

    async def _many(self, verb: str, items: Sequence[Any], now: int | None) -> Answers:
        if not items:
            return []
        return cast(Answers, await self._submit(verb, items, now).answers())

    async def _single(self, verb: str, item: Any, now: int | None) -> object:
        (answer,) = await self._submit(verb, [item], now).answers()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _one(self, verb: str, item: Any, now: int | None) -> Answer:
        return cast(Answer, await self._single(verb, item, now))

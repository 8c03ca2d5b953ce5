"""What an operator may ask of a store: acts on jobs, the barrier, the settings. Each leaves an audit row."""

from collections.abc import Sequence

from runtime.protocol.records import Answer, Migration, Operation, Setting, Transition
from runtime.store.requests import Answers, Requests


class Operators(Requests):
    """The operator's verbs."""

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

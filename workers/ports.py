"""What workers need of a store while a handler runs, and no more."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from runtime.protocol.errors import ItemError
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Admission, Answer, Effect

Params = Sequence[Any] | Mapping[str, Any]


class Source(Protocol):
    """Reads for handlers."""

    async def effects(self, job: str, /) -> Sequence[Effect]:
        """The committed effects of a job, in the order of its steps."""

    async def query(self, sql: str, params: Params = ()) -> Sequence[Any]:
        """The rows of one reading statement."""


class Admitting(Protocol):
    """What `App.admit` asks of a store."""

    async def admit(
        self,
        workflow: str,
        id: str,  # noqa: A002  the contract's own word
        payload: Any,
        *,
        flow: str | None = None,
        width: int | None = None,
        now: int | None = None,
    ) -> Answer: ...

    async def admit_many(self, items: Sequence[Admission], *, now: int | None = None) -> list[Answer | ItemError]: ...


class Declaring(Protocol):
    """What `App.prepare` asks of a store."""

    async def ensure_schema(self, name: str, sql: str) -> bool: ...

    async def register_many(self, manifests: Sequence[Manifest]) -> list[Answer | ItemError]: ...

    async def switch(
        self, digest: str, expected_revision: int, *, reason: str | None = None, actor: str = ...
    ) -> Answer: ...

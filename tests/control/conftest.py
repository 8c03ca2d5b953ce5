"""A store on the logical clock with two definitions of one workflow, and workers that declare them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store

POLICY: dict[str, Any] = {"budget": 3, "base": 2, "ceiling": 8, "lease": 5, "time_limit": 100}
V1 = Manifest("points", "local/1", (Step("base", "credit", **POLICY), Step("bonus", "credit", **POLICY)))
V2 = Manifest("points", "local/2", (Step("bonus", "credit", on_lapse=OnLapse.HOLD, **POLICY),))
W1 = Worker.declaring("W1", V1)
W2 = Worker.declaring("W2", V2)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store whose route leads to V1; nobody lives there yet."""
    async with await Store.open(tmp_path / "app.db", clock="logical", store_id="store-1") as made:
        await made.register_many([V1, V2])
        await made.switch(V1.digest, 0)
        yield made


async def live(store: Store, worker: Worker) -> None:
    """Say that a worker lives."""
    await store.announce(worker, host="here", pid=1, started_at_ms=0)

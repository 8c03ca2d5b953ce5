"""Running commands in this process, and what they leave on stdout, on stderr and as their exit code."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
import pytest

from runtime.cli.app import main
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store

Result = TypeVar("Result")
V1 = Manifest("points", "local/1", (Step("base", "credit"), Step("bonus", "credit")))
V2 = Manifest("points", "local/2", (Step("bonus", "credit", on_lapse=OnLapse.HOLD),))
W1 = Worker.declaring("W1", V1)


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as a JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """stdout as lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


class Cli:
    """Commands against one database file."""

    def __init__(self, db: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.db = db
        self._capsys = capsys

    def __call__(self, *words: str) -> Ran:
        """Run a command with `--db`."""
        return self.bare(*words, "--db", str(self.db))

    def bare(self, *words: str) -> Ran:
        """Run a command as it is."""
        self._capsys.readouterr()
        code = main(list(words))
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        return Ran(int(code), out, err)

    def store(self, do: Callable[[Store], Awaitable[Result]]) -> Result:
        """Do something with the store itself."""

        async def opened() -> Result:
            async with await Store.open(self.db) as store:
                return await do(store)

        return anyio.run(opened)


async def prepared(store: Store) -> None:
    """Both definitions registered, the route leads to the first."""
    await store.register_many([V1, V2])
    await store.switch(V1.digest, 0)

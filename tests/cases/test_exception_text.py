"""Exception text: too long, or of a class that cannot be rebuilt."""

import json
from pathlib import Path

from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.cases import odd
from tests.cases.looking import counted, fields, in_state, prepared
from tests.cases.notes import notes, until
from tests.cases.pool import command, inside, pool

ODD = "tests.cases.odd:app"
CAP = 8 * 1024
LONGEST_LINE = 200


async def test_c60_a_message_of_five_megabytes_is_cut_and_the_failure_stored(store: Store, db: Path) -> None:
    await prepared(odd.app, store)
    assert len(odd.LONG_TEXT.encode()) > 5 * 1024 * 1024
    await store.admit("raises-once", "J", {"raise": "long"}, flow="F")
    await store.admit("quick", "next", 1, flow="G")
    async with pool(db, "--concurrency", "1", app=ODD):
        await until(in_state(store, "next", "done"))
        await until(in_state(store, "J", "quarantined"))
    (reason,) = await fields(store, "J", "reason")
    assert len(reason.encode()) <= CAP
    assert reason.startswith("RuntimeError: Ünverständlich 漢字\n")
    assert "cut" in reason[-60:]
    ended = await command(db, "jobs", "list", "--state", "quarantined")
    _heading, line = ended.stdout.decode().splitlines()
    assert line.startswith("J ")
    assert len(line) <= LONGEST_LINE
    listed = await command(db, "jobs", "list", "--state", "quarantined", "-o", "json")
    assert json.loads(listed.stdout)[0]["reason"] == reason


async def test_c61_exceptions_that_cannot_be_rebuilt_are_stored_as_words(store: Store, db: Path) -> None:
    await prepared(odd.app, store)
    names = {"TwoArguments": "TwoArguments: two are needed", "Local": "Local: from inside a function"}
    await store.admit_many([Admission("raises", f"raises {name}", {"raise": name}, name) for name in names])
    async with pool(db, "--concurrency", "2", app=ODD) as running:
        for name, text in names.items():
            await until(in_state(store, f"raises {name}", "quarantined"))
            assert await fields(store, f"raises {name}", "attempts", "reason") == [2, text]
            assert [entry["attempt"] for entry in notes(db.parent, "begin", f"raises {name}")] == [1, 2]
        await store.admit("quick", "next", 1)
        await until(in_state(store, "next", "done"))
        assert {entry["pid"] for entry in notes(db.parent, "begin")} == {running.pid}


async def test_c61_the_same_out_of_a_process_of_its_own(store: Store, db: Path) -> None:
    await prepared(odd.app, store)
    await store.admit("raises-elsewhere", "two", {"raise": "TwoArguments"})
    await store.admit("raises-elsewhere", "local", {"raise": "Local"})
    async with inside(odd.app, db, target=ODD):
        await until(counted(store, "quarantined", 2), within_s=20)
    assert await fields(store, "two", "attempts", "reason") == [2, "TwoArguments: two are needed"]
    assert await fields(store, "local", "attempts", "reason") == [2, "Local: from inside a function"]

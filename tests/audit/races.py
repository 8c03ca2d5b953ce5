"""A2: gated processes that claim, migrate and switch at once. What may come of it is checked, never who won."""

import multiprocessing
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import anyio

from runtime.protocol.records import Token
from runtime.store.store import Store
from tests.audit.ledger import BOTH, NEW, OLD, UNITS, V1, V2, Broken, Ledger, value

JOBS = 4
ROLES = tuple((role, number) for role in ("claim", "migrate", "switch") for number in range(4))
WATCHDOG_SECONDS = 30
Said = tuple[str, Any]


async def _act(store: Store, role: str, number: int) -> Said:
    if role == "claim":
        answer = await store.claim(1 + number % 2, OLD if number < 2 else NEW, now=0)
        return "claimed", [(claim.token, claim.ticket) for claim in answer.claims]
    if role == "migrate":
        verdict = (await store.migrate(f"j{number}", 0, V2.digest, "raced", now=0)).verdict
        return str(verdict), f"j{number}"
    return str((await store.switch(V2.digest, 1, now=0)).verdict), None


def child(path: Path, role: str, number: int, gate: Connection) -> None:
    """A process of a race: opens the store, says READY, waits for GO, acts once, and tells."""

    async def main() -> None:
        async with await Store.open(path) as store:
            gate.send("READY")
            gate.recv()
            gate.send(await _act(store, role, number))

    anyio.run(main)


async def prepare(path: Path) -> None:
    """A store with some jobs of the old definition, and both registered."""
    async with await Store.open(path, clock="logical", store_id="audit") as store:
        for manifest in (V1, V2):
            await store.register(manifest, now=0)
        await store.switch(V1.digest, 0, now=0)
        for number in range(JOBS):
            await store.admit("points", f"j{number}", {"units": UNITS}, now=0)


def race(path: Path) -> list[Said]:
    """All processes at the gate, then GO."""
    context = multiprocessing.get_context("forkserver")
    gates = []
    processes = []
    for role, number in ROLES:
        here, there = context.Pipe()
        process = context.Process(target=child, args=(path, role, number, there), daemon=True)
        process.start()
        there.close()
        gates.append(here)
        processes.append(process)
    for gate in gates:
        _hear(gate)
    for gate in gates:
        gate.send("GO")
    said: list[Said] = [_hear(gate) for gate in gates]
    for process in processes:
        process.join(WATCHDOG_SECONDS)
        if process.exitcode != 0:
            raise Broken(f"a process of the race ended with {process.exitcode}")
    return said


def _hear(gate: Connection) -> Any:
    if not gate.poll(WATCHDOG_SECONDS):
        raise Broken(f"a process of the race was silent for {WATCHDOG_SECONDS} seconds")
    return gate.recv()


async def judge(path: Path, said: list[Said]) -> None:
    """The claims and answers against the file; then everything is run to its end."""
    async with await Store.open(path) as store:
        ledger = Ledger(store)
        await ledger.check()
        claims: list[tuple[Token, int]] = [pair for word, pairs in said if word == "claimed" for pair in pairs]
        tickets = sorted(ticket for _, ticket in claims)
        if tickets != list(range(1, len(claims) + 1)):
            raise Broken(f"tickets are unique and gapless: {tickets}")
        if sum(word == "switched" for word, _ in said) != 1 or sum(word == "stale" for word, _ in said) != 3:
            raise Broken(f"one switch of four succeeds, the others are stale: {said}")
        moved = {name for word, name in said if word == "migrated"}
        for name, job in ledger.jobs.items():
            if (job.current_digest == V2.digest) is not (name in moved):
                raise Broken(f"who was told `migrated` is bound anew, nobody else: {job}, {moved}")
        await _commit(store, [token for token, _ in claims], ("advanced",))
        await ledger.check()
        await _finish(store, ledger.check)
        for job in ledger.jobs.values():
            if job.state != "done":
                raise Broken(f"everything that was accepted ends: {job}")


async def _commit(store: Store, tokens: list[Token], allowed: tuple[str, ...]) -> None:
    for token in tokens:
        answer = await store.commit_step(token, value(token.digest, token.cursor), worker=BOTH, now=0)
        if answer.verdict not in allowed:
            raise Broken(f"a token handed out in a race commits: {token}, {answer}")


async def _finish(store: Store, check: Callable[[], Awaitable[None]]) -> None:
    while claims := (await store.claim(JOBS, BOTH, now=0)).claims:
        await _commit(store, [claim.token for claim in claims], ("advanced", "done"))
        await check()


def rounds(folder: Path, count: int) -> int:
    """`count` races, each over a file of its own; how many processes took part."""
    for number in range(count):
        path = folder / f"round{number}.db"
        anyio.run(prepare, path)
        said = race(path)
        try:
            anyio.run(judge, path, said)
        except Broken as error:
            error.add_note(f"round {number}: {said}")
            raise
        for part in folder.glob(f"{path.name}*"):
            part.unlink()
    return count * len(ROLES)

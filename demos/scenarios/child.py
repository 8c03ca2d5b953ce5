"""The child program of the scenarios with real processes: one store, calls as lines of JSON, each behind a gate.

    python -P child.py PATH [WATCHDOG_SECONDS]

A line on standard input is {"verb": …, "args": {…}}. The child prints READY, waits for the line GO, makes the call and
prints its answer as JSON, or {"error": kind, "text": …}; when its input ends it closes the store. A watchdog ends a
child that hangs, with its stacks on standard error. Beside the store's verbs there are `relay` (claim, deliver, commit)
and the calls of other files in the store's folder: of a receiver's, `receive` and `set_max_delta`; of one that has no
schema yet, `upgrade` and `upgrade_inbox`.
"""

import faulthandler
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import msgspec

from runtime.protocol.errors import KeepstepError
from runtime.protocol.manifest import manifest_from
from runtime.protocol.records import Admission, Token, Worker, Write
from runtime.store.store import Store

WATCHDOG_S = 20


async def serve(path: str, watchdog_s: float) -> None:
    """Answer calls until the input ends; each call winds up the watchdog anew."""
    async with await Store.open(path, create=False) as store:
        for line in sys.stdin:
            faulthandler.dump_traceback_later(watchdog_s, exit=True)
            call = msgspec.json.decode(line)
            arguments = decoded(call["args"])
            say(b"READY")
            if sys.stdin.readline() != "GO\n":
                return
            try:
                answer = await make(store, call["verb"], arguments)
            except KeepstepError as error:
                answer = {"error": type(error).__name__, "text": str(error)}
            say(msgspec.json.encode(answer))


def decoded(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the store's methods take them."""
    found = dict(arguments)
    if "token" in found:
        found["token"] = msgspec.convert(found["token"], Token)
    if isinstance(found.get("worker"), dict):
        found["worker"] = msgspec.convert(found["worker"], Worker)
    if "writes" in found:
        found["writes"] = msgspec.convert(found["writes"], list[Write])
    if "admit" in found:
        found["admit"] = msgspec.convert(found["admit"], list[Admission])
    if "manifest" in found:
        found["manifest"] = manifest_from(found["manifest"])
    return found


async def make(store: Store, verb: str, arguments: dict[str, Any]) -> object:
    """One call of the store, or of one of the functions here."""
    if verb in OTHERS:
        return await OTHERS[verb](store, **arguments)
    return await getattr(store, verb)(**arguments)


async def relay(store: Store, *, inbox: str, worker: Worker, now: int) -> object:
    """Claim one event, deliver it, commit what the receiver answered; the words of both, or None if nothing was due."""
    from runtime.store.inbox import Inbox

    claims = (await store.claim(1, worker, now=now)).claims
    if not claims:
        return None
    (claim,) = claims
    async with await Inbox.open(inbox) as receiver:
        receipt = await receiver.receive(
            claim.token.job, claim.flow or "", claim.seq, msgspec.json.decode(claim.payload)
        )
    answer = await store.commit_step(claim.token, receipt.verdict, worker=worker, now=now)
    return [receipt.verdict, answer.verdict]


async def receive(store: Store, *, inbox: str, event_id: str, flow: str, seq: int, body: Any) -> object:
    """One delivery to the receiver's file of this name; the verdict."""
    from runtime.store.inbox import Inbox

    async with await Inbox.open(beside(store, inbox)) as receiver:
        return (await receiver.receive(event_id, flow, seq, body)).verdict


async def set_max_delta(store: Store, *, inbox: str, value: int) -> None:
    """The capability of the receiver's file of this name."""
    from runtime.store.inbox import Inbox

    async with await Inbox.open(beside(store, inbox)) as receiver:
        await receiver.set_max_delta(value)


async def upgrade(store: Store, *, file: str, clock: str, store_id: str) -> str:
    """A store's file is opened."""
    async with await Store.open(beside(store, file), clock=clock, store_id=store_id):
        return "opened"


async def upgrade_inbox(store: Store, *, inbox: str) -> str:
    """A receiver's file is opened."""
    from runtime.store.inbox import Inbox

    async with await Inbox.open(beside(store, inbox)):
        return "opened"


def beside(store: Store, name: str) -> Path:
    """A file in the store's folder."""
    return Path(store.path).with_name(name)


OTHERS: Mapping[str, Callable[..., Awaitable[object]]] = {
    "relay": relay,
    "receive": receive,
    "set_max_delta": set_max_delta,
    "upgrade": upgrade,
    "upgrade_inbox": upgrade_inbox,
}


def say(line: bytes) -> None:
    """One line to the parent, at once."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else WATCHDOG_S
    faulthandler.dump_traceback_later(seconds, exit=True)
    anyio.run(serve, sys.argv[1], seconds)

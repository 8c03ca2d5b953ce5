"""Calls of every write verb of a store, each with the state that it is made in; `scenes` makes scenes of them."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from demos.scenarios.stage import LAPSED, points, take
from demos.scenarios.world import step
from runtime.protocol.manifest import Manifest
from runtime.protocol.records import Admission, Claim, Worker, Write
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store

V1, V2 = points(OnLapse.RETRY)
ONE = Manifest("note", "note/1", (step("note", "note"),))
WORKER = Worker.declaring("worker", V1, V2, ONE)
STRANGER = Worker.declaring("stranger", V1, V2, ONE)
UNITS = {"units": 10}
LONG = {"units": 10, "text": "x" * 200}
REASON = "because"
Arguments = dict[str, Any]


class Case(NamedTuple):
    """`prepare` makes the state and gives the call's arguments; `first` is the call's word, `again` when it is repeated
    after it was committed."""

    verb: str
    prepare: Callable[[Store], Awaitable[Arguments]]
    first: str
    again: str


async def job(store: Store, name: str = "job", workflow: str = "points", **wish: Any) -> None:
    """A job that is ready."""
    await store.admit(workflow, name, UNITS, now=0, **wish)


async def claimed(store: Store, workflow: str = "points", flow: str | None = "a") -> Claim:
    """A job in flight."""
    await job(store, workflow=workflow, flow=flow)
    return await take(store, WORKER, 0)


async def parked(store: Store) -> None:
    """A quarantined job."""
    claim = await claimed(store)
    await store.quarantine(claim.token, "broken", worker="worker", now=0)


async def admit_first(store: Store) -> Arguments:
    """Into a new flow."""
    return {"workflow": "points", "id": "job", "payload": UNITS, "flow": "a", "now": 1}


async def admit_alone(store: Store) -> Arguments:
    """Without a flow, with a long payload."""
    return {"workflow": "points", "id": "job", "payload": LONG, "now": 1}


async def admit_next(store: Store) -> Arguments:
    """Into a flow that exists."""
    await job(store, "first", flow="a")
    return await admit_first(store)


async def claim_one(store: Store) -> Arguments:
    """More is asked for than there is."""
    await job(store)
    return {"limit": 2, "worker": WORKER, "now": 1}


async def claim_wide(store: Store) -> Arguments:
    """Several jobs of one free flow."""
    for name in ("first", "second", "third"):
        await job(store, name, flow="a", width=3)
    return {"limit": 3, "worker": WORKER, "now": 1}


async def claim_lapsed(store: Store) -> Arguments:
    """A claim's lease has lapsed: the sweep makes its job ready first."""
    await claimed(store)
    return {"limit": 1, "worker": WORKER, "now": LAPSED}


async def commit_first(store: Store) -> Arguments:
    """The first of two steps."""
    return {"token": (await claimed(store)).token, "value": 10, "worker": WORKER, "now": 1}


async def commit_last(store: Store) -> Arguments:
    """The last step of a job without a flow."""
    return {"token": (await claimed(store, "note", None)).token, "value": 10, "worker": WORKER, "now": 1}


async def commit_writing(store: Store) -> Arguments:
    """A step with a row of the handler's own."""
    await store.ensure_schema("notes", "create table note (text text) strict")
    return {**await commit_last(store), "writes": [Write("insert into note (text) values (?)", ("a note",))]}


async def commit_stale(store: Store) -> Arguments:
    """A second delivery, by a worker that is new here."""
    arguments = await commit_last(store)
    await store.commit_step(**arguments)
    return {**arguments, "worker": STRANGER}


async def callback(store: Store) -> Arguments:
    """A worker's fail, release or quarantine."""
    return {"token": (await claimed(store)).token, "reason": REASON, "worker": "worker", "now": 1}


async def callback_in_a_free_flow(store: Store) -> Arguments:
    """A claim in a free flow, where a waiting job gives its place back."""
    await job(store, flow="a", width=2)
    return {"token": (await take(store, WORKER, 0)).token, "reason": REASON, "worker": "worker", "now": 1}


async def stale_callback(store: Store) -> Arguments:
    """A callback after its claim has ended, by a worker that is new here."""
    arguments = await callback(store)
    await store.release(arguments["token"], "stopping", now=0)
    return {**arguments, "worker": STRANGER.id}


async def renewal(store: Store) -> Arguments:
    """A longer lease."""
    return {"token": (await claimed(store)).token, "worker": "worker", "now": 3}


async def lapse(store: Store) -> Arguments:
    """A lease that has lapsed."""
    await claimed(store)
    return {"now": LAPSED}


async def redriving(store: Store) -> Arguments:
    """A quarantined job, seen at its generation."""
    await parked(store)
    return {"job": "job", "generation": 1, "reason": REASON, "now": 1}


async def redriving_to(store: Store) -> Arguments:
    """A quarantined job is redriven to another definition."""
    return {**await redriving(store), "to": V2.digest, "command_id": "command"}


async def recovering(store: Store) -> Arguments:
    """A job in flight, seen at its generation."""
    await claimed(store)
    return {"job": "job", "generation": 1, "reason": REASON, "now": 1}


async def recovering_to(store: Store) -> Arguments:
    """A job in flight is recovered to another definition."""
    return {**await recovering(store), "to": V2.digest}


async def parking(store: Store) -> Arguments:
    """A ready job, seen at its generation."""
    await job(store, flow="a")
    return {"job": "job", "generation": 0, "reason": REASON, "now": 1}


async def migrating(store: Store) -> Arguments:
    """A ready job at cursor 0."""
    await job(store, flow="a")
    return {"job": "job", "binding_revision": 0, "digest": V2.digest, "reason": REASON, "now": 1}


async def registering(store: Store) -> Arguments:
    """A definition that is new."""
    return {"manifest": Manifest("new", "note/1", (step("note", "note"),)), "now": 1}


async def switching(store: Store) -> Arguments:
    """Another definition for new jobs."""
    return {"digest": V2.digest, "expected_revision": 1, "now": 1}


async def capacity(store: Store) -> Arguments:
    """The store's limit."""
    return {"name": "capacity", "value": 5, "reason": REASON, "command_id": "command", "now": 1}


async def ordering(store: Store) -> Arguments:
    """A free flow becomes ordered while its head is in flight."""
    for name in ("first", "second"):
        await job(store, name, flow="a", width=2)
    await take(store, WORKER, 0)
    return {"name": "width", "flow": "a", "value": None, "reason": REASON, "now": 1}


async def draining(store: Store) -> Arguments:
    """The door shuts."""
    await job(store)
    return {"action": "drain", "expected_version": 0, "now": 1}


async def busy(store: Store) -> Arguments:
    """A pause with a job unfinished."""
    await store.transition(**await draining(store))
    return {"action": "pause", "expected_version": 1, "now": 1}


async def pausing(store: Store) -> Arguments:
    """A pause with nothing unfinished."""
    await store.transition("drain", 0, now=0)
    return {"action": "pause", "expected_version": 1, "now": 1}


async def resuming(store: Store) -> Arguments:
    """The door opens."""
    await store.transition("drain", 0, now=0)
    return {"action": "resume", "expected_version": 1, "now": 1}


async def announcing(store: Store) -> Arguments:
    """A worker process that says it lives."""
    return {"worker": WORKER, "host": "host", "pid": 1, "started_at_ms": 1}


async def withdrawing(store: Store) -> Arguments:
    """A worker process has ended and says so."""
    await store.announce(**await announcing(store))
    return {"worker": "worker"}


async def withdrawing_unheard(store: Store) -> Arguments:
    """A worker process says that it has ended, and was never heard of."""
    return {"worker": STRANGER.id}


async def own_tables(store: Store) -> Arguments:
    """An app's own tables."""
    return {"name": "notes", "sql": "create table note (text text) strict; create index by_text on note (text)"}


async def writing(store: Store) -> Arguments:
    """A row of one's own with an admission into a flow that exists."""
    await store.ensure_schema("notes", "create table note (text text) strict")
    await job(store, "first", flow="a")
    row = ("insert into note (text) values (?)", ("a note",))
    return {"statements": [row], "admit": [Admission("points", "job", UNITS, "a")], "now": 1}


async def writing_first(store: Store) -> Arguments:
    """Rows of one's own and an admission into a new flow."""
    arguments = await writing(store)
    return {**arguments, "admit": [Admission("points", "job", LONG, "b")]}


def commanded(prepare: Callable[[Store], Awaitable[Arguments]]) -> Callable[[Store], Awaitable[Arguments]]:
    """The same call under a command id: repeated, it answers as the first time."""

    async def with_id(store: Store) -> Arguments:
        """With a command id."""
        return {**await prepare(store), "command_id": "command"}

    return with_id


CASES = (
    Case("admit", admit_first, "accepted", "replay"),
    Case("admit", admit_next, "accepted", "replay"),
    Case("admit", admit_alone, "accepted", "replay"),
    Case("claim", claim_one, "1 claimed", "0 claimed"),
    Case("claim", claim_wide, "3 claimed", "0 claimed"),
    Case("claim", claim_lapsed, "1 claimed", "0 claimed"),
    Case("commit_step", commit_first, "advanced", "stale"),
    Case("commit_step", commit_last, "done", "stale"),
    Case("commit_step", commit_writing, "done", "stale"),
    Case("commit_step", commit_stale, "stale", "stale"),
    Case("fail", callback, "retry", "stale"),
    Case("fail", callback_in_a_free_flow, "retry", "stale"),
    Case("fail", stale_callback, "stale", "stale"),
    Case("release", callback, "released", "stale"),
    Case("release", stale_callback, "stale", "stale"),
    Case("quarantine", callback, "quarantined", "stale"),
    Case("quarantine", stale_callback, "stale", "stale"),
    Case("renew", renewal, "renewed", "renewed"),
    Case("sweep", lapse, "1", "0"),
    Case("redrive", redriving, "redriven", "stale"),
    Case("redrive", redriving_to, "redriven", "redriven"),
    Case("recover", recovering, "recovered", "stale"),
    Case("recover", recovering_to, "recovered", "stale"),
    Case("recover", commanded(recovering), "recovered", "recovered"),
    Case("quarantine_job", parking, "quarantined", "stale"),
    Case("quarantine_job", commanded(parking), "quarantined", "quarantined"),
    Case("migrate", migrating, "migrated", "stale"),
    Case("migrate", commanded(migrating), "migrated", "migrated"),
    Case("register", registering, "registered", "known"),
    Case("switch", switching, "switched", "stale"),
    Case("switch", commanded(switching), "switched", "switched"),
    Case("set", capacity, "set", "set"),
    Case("set", ordering, "set", "set"),
    Case("transition", draining, "draining", "stale"),
    Case("transition", commanded(draining), "draining", "draining"),
    Case("transition", busy, "busy", "busy"),
    Case("transition", pausing, "paused", "stale"),
    Case("transition", resuming, "open", "stale"),
    Case("write", writing, "accepted", "replay"),
    Case("write", writing_first, "accepted", "replay"),
    Case("announce", announcing, "None", "None"),
    Case("withdraw", withdrawing, "None", "None"),
    Case("withdraw", withdrawing_unheard, "None", "None"),
    Case("ensure_schema", own_tables, "True", "False"),
)

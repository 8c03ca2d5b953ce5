"""Is this store well: the facts of an examination, judged; settings that cannot work together."""

import os
import socket
import time
from collections.abc import Iterator, Sequence

from control.times import Clock
from runtime.protocol.canonical import digest
from runtime.protocol.errors import StoreError
from runtime.protocol.manifest import Manifest, manifest_from_bytes
from runtime.protocol.records import Record
from runtime.protocol.verdicts import OnLapse
from runtime.store.doctor import Examination, damage, examine
from runtime.store.store import Store

LARGE_WAL_BYTES = 64 * 1024 * 1024
ALIVE_MS = 3_000
LEAST_LEASE_MS = 300
AHEAD_MS = 1_000
RESTORE = "stop the workers and restore a backup"
WAL_RESET_FIXED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))


class Finding(Record, frozen=True):
    """One check: `ok`, `note`, `warning` or `fault`; what was found, and what to do next."""

    check: str
    level: str
    text: str
    next: str | None = None


async def look_over(store: Store, *, grace_ms: int) -> list[Finding]:
    """Every check; a fault is something that must not be."""
    try:
        facts = await examine(store)
    except StoreError:
        found = await damage(store)
        if found is None:
            raise
        return [
            Finding("file", "fault", f"{store.path} is damaged: {found}", RESTORE),
            Finding("others", "note", "the other checks need what cannot be read"),
        ]
    manifests = [manifest_from_bytes(data) for known, _, data in facts.registry if digest(data) == known]
    return [
        *_file(facts),
        *_registry(facts),
        *_counters(facts),
        *_presence(facts),
        *_clock(facts),
        *_engine(facts),
        *settings(manifests, facts.clock, grace_ms),
    ]


def _file(facts: Examination) -> Iterator[Finding]:
    if facts.quick_check:
        yield Finding("file", "fault", f"{facts.path} is damaged: {facts.quick_check[0]}", RESTORE)
    else:
        yield Finding("file", "ok", f"{facts.path}: {facts.file_bytes} bytes, whole (quick_check)")
    if facts.foreign_keys:
        yield Finding("references", "fault", f"rows point nowhere: {facts.foreign_keys[0]}", RESTORE)
    else:
        yield Finding("references", "ok", "every reference leads somewhere")
    level = "ok" if facts.schema == facts.newest_schema else "fault"
    yield Finding("schema", level, f"schema number {facts.schema}, this keepstep knows {facts.newest_schema}")
    if facts.wal_bytes > LARGE_WAL_BYTES:
        text = f"write-ahead file: {facts.wal_bytes} bytes; a reader in a long transaction keeps it from being emptied"
        yield Finding("wal", "warning", text, "end programs that read the file for long, then let a worker run")
    else:
        yield Finding("wal", "ok", f"write-ahead file: {facts.wal_bytes} bytes")
    if facts.mode & 0o077:
        yield Finding("mode", "warning", f"mode {facts.mode:04o}: others can read payloads", f"chmod 600 {facts.path}")
    else:
        yield Finding("mode", "ok", f"mode {facts.mode:04o}, private")


def _registry(facts: Examination) -> Iterator[Finding]:
    damaged = [(known, workflow) for known, workflow, data in facts.registry if digest(data) != known]
    for known, workflow in damaged:
        text = f"definition {known[:12]} of workflow {workflow}: its bytes are not those that the digest was made of"
        yield Finding("registry", "fault", text, "restore that row from a backup; until then its jobs stand still")
    if not damaged:
        yield Finding("registry", "ok", f"{len(facts.registry)} definitions, each with the bytes of its digest")


def _counters(facts: Examination) -> Iterator[Finding]:
    wrong = []
    if facts.unfinished[0] != facts.unfinished[1]:
        wrong.append(f"unfinished jobs: counted {facts.unfinished[0]}, there are {facts.unfinished[1]}")
    if len(set(facts.effects)) > 1:
        counted, rows, cursors = facts.effects
        wrong.append(f"effects: counted {counted}, rows {rows}, cursors add up to {cursors}")
    if facts.ticket[0] != facts.ticket[1]:
        wrong.append(f"tickets: {facts.ticket[0]}, lifetime attempts add up to {facts.ticket[1]}")
    if facts.counters[0] != facts.counters[1]:
        wrong.append(f"the store's own counters: {facts.counters[0]} rows, {facts.counters[1]} are expected")
    wrong += [f"tally of {line}" for line in facts.tally]
    if facts.flows_wrong:
        wrong.append(f"flows that count their unfinished jobs wrongly: {facts.flows_wrong}")
    for text in wrong:
        yield Finding("counters", "fault", text, "somebody else wrote into the engine's tables: restore a backup")
    if not wrong:
        yield Finding("counters", "ok", "every counter equals a recount")


def _presence(facts: Examination) -> Iterator[Finding]:
    now_ms = time.time_ns() // 1_000_000
    live = [seen for seen in facts.presence if abs(now_ms - seen.seen_at_ms) <= ALIVE_MS]
    gone = [seen for seen in facts.presence if abs(now_ms - seen.seen_at_ms) > ALIVE_MS]
    names = ", ".join(f"{seen.worker} ({seen.host}, pid {seen.pid})" for seen in live)
    yield Finding("workers", "ok", f"live: {names}" if live else "no worker is live")
    dead = [seen for seen in live if seen.host == socket.gethostname() and not _runs(seen.pid)]
    for seen in dead:
        text = f"worker {seen.worker} (pid {seen.pid}) has just ended; it counts as live for three seconds"
        yield Finding("workers", "note", text)
    if gone:
        names = ", ".join(f"{seen.worker} ({seen.host}, pid {seen.pid})" for seen in gone[:5])
        text = f"{len(gone)} ended without saying so: {names}"
        yield Finding("workers", "note", text, "nothing; their claims end with their leases (held ones with `recover`)")


def _clock(facts: Examination) -> Iterator[Finding]:
    if facts.clock == "logical":
        ahead = facts.newest is not None and facts.newest > facts.tick
        level, text = ("fault", "a row carries a later tick") if ahead else ("ok", "no row carries a later tick")
        yield Finding("clock", level, f"logical clock at tick {facts.tick}; {text}")
        return
    clock = Clock(facts.clock, time.time_ns() // 1_000_000)
    if facts.newest is not None and facts.newest > clock.now + AHEAD_MS:
        text = f"the newest row says {clock.at(facts.newest)}, this machine {clock.at(clock.now)}: its clock went back"
        yield Finding("clock", "warning", text, "set the clock; waits and leases last longer until it has caught up")
    else:
        yield Finding("clock", "ok", f"wall clock {clock.at(clock.now)}; no row is from the future")


def _engine(facts: Examination) -> Iterator[Finding]:
    version = tuple(int(part) for part in facts.engine.split("."))
    fixed = version >= WAL_RESET_FIXED[-1] or any(version[:2] == at[:2] and version >= at for at in WAL_RESET_FIXED)
    if fixed:
        yield Finding("engine", "ok", f"SQLite {facts.engine}")
    else:
        text = (
            f"SQLite {facts.engine} can lose rows when programs outside keepstep write to or checkpoint the same file"
        )
        yield Finding("engine", "note", text, "write to the file through keepstep only (`runtime.connect`)")


def settings(manifests: Sequence[Manifest], clock: str, grace_ms: int) -> Iterator[Finding]:
    """Settings of steps, and the grace of a stop, that cannot work together."""
    found = list(_steps(manifests, grace_ms)) if clock == "wall" else []
    yield from found
    if not found:
        yield Finding("settings", "ok", "leases, time limits and grace fit together")


def _steps(manifests: Sequence[Manifest], grace_ms: int) -> Iterator[Finding]:
    for manifest in manifests:
        for step in manifest.steps:
            name = f"{manifest.name} {manifest.digest[:12]}, step {step.name}"
            if step.lease < LEAST_LEASE_MS:
                text = f"{name}: a lease of {step.lease} ms is too short to be renewed; `work` refuses it"
                yield Finding("settings", "fault", text, f"declare {LEAST_LEASE_MS} ms or more and switch to that")
            if step.time_limit < step.lease:
                text = f"{name}: the time limit ({step.time_limit} ms) is shorter than the lease ({step.lease} ms)"
                yield Finding("settings", "note", text, "a lost worker is noticed later than its step would be cut")
            if step.on_lapse == OnLapse.HOLD and step.time_limit > grace_ms:
                text = f"{name}: may run {step.time_limit} ms; a stop waits {grace_ms} ms, then quarantines it (hold)"
                yield Finding("settings", "note", text, "a longer --grace, or a shorter time limit")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""One unit: take the turn, BEGIN IMMEDIATE, the verbs' statements, COMMIT, give the turn back.

An item's own fault is confined by running the requests again one by one; a lock, disk, I/O or COMMIT fault is
everybody's and is never retried that way.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from runtime.protocol.errors import CommitUnknown, StoreError, WriteFailed
from runtime.store import points
from runtime.store.log import Log
from runtime.store.sqlite import Files, is_everybodys, named, unknown
from runtime.store.transaction import SWEEP_LIMIT, Names, Transaction
from runtime.store.turnstile import Turnstile
from runtime.store.verbs import ALONE, RANK, VERBS

if TYPE_CHECKING:
    from runtime.store.writer import Request

Begin = Callable[[sqlite3.Connection], Transaction]


class Groups:
    """Runs groups of requests on one connection, each within one turn."""

    def __init__(self, files: Files, *, deadline_ms: int, sweep_limit: int = SWEEP_LIMIT) -> None:
        self._deadline_ms = deadline_ms
        self._turnstile = Turnstile(files.path)
        self._names = Names()
        self._sweep_limit = sweep_limit
        self._log = Log(files, self._turnstile, deadline_ms=deadline_ms)

    def run(self, raw: sqlite3.Connection, group: "Sequence[Request]", answer: Callable[[], object]) -> None:
        """Run a group, then call `answer`: every request that was not withdrawn has its results or its error by then.

        The turn is given back first, for whoever is answered takes the interpreter; only care for the log, which nobody
        need wait for, keeps it longer.
        """
        begun = time.monotonic()
        try:
            self._turnstile.enter(begun + self._deadline_ms / 1000)
        except BaseException as error:
            _fail(group, error)
            answer()
            return
        waited_ms = int((time.monotonic() - begun) * 1000)
        tidy = self._log.untidy
        try:
            self._run_in_turn(raw, group, waited_ms)
            if tidy:
                answer()
                self._log.tidy(raw)
            self._log.look()
        finally:
            try:
                self._turnstile.leave()
            finally:
                if not tidy:
                    answer()

    def _run_in_turn(self, raw: sqlite3.Connection, group: "Sequence[Request]", waited_ms: int) -> None:
        try:
            if waited_ms > 100:
                raw.execute(f"pragma busy_timeout = {max(self._deadline_ms - waited_ms, 1)}")
            try:
                self._run_started(raw, [request for request in group if request.start()])
            finally:
                if waited_ms > 100:
                    raw.execute(f"pragma busy_timeout = {self._deadline_ms}")
        except BaseException as error:
            _fail(group, error)
        self._turnstile.mark()

    def give_up(self) -> None:
        """Wait for no turn any more."""
        self._turnstile.give_up()

    def close(self) -> None:
        """Close the descriptors of the locks and of the log."""
        self._log.close()
        self._turnstile.close()

    def _begin(self, raw: sqlite3.Connection) -> Transaction:
        return Transaction(raw, self._names, time.time_ns() // 1_000_000, sweep_limit=self._sweep_limit)

    def _run_started(self, raw: sqlite3.Connection, started: "list[Request]") -> None:
        alone = [request for request in started if request.verb in ALONE]
        together = [request for request in started if request.verb not in ALONE]
        for place, request in enumerate(alone, 1):
            _catch([request], lambda requests: _run_alone(raw, requests[0], self._begin))
            if _stop(request, [*alone[place:], *together]):
                return
        if together and not _catch(together, lambda requests: _transact(raw, requests, self._begin)):
            for place, request in enumerate(together, 1):
                if not _catch([request], lambda requests: _transact(raw, requests, self._begin)):
                    _catch([request], lambda requests: _item_by_item(raw, requests[0], self._begin))
                if _stop(request, together[place:]):
                    return


def _fail(group: "Sequence[Request]", error: BaseException) -> None:
    for request in group:
        request.error = request.error or error


class _Part:
    """One item of a request, in a transaction of its own."""

    def __init__(self, request: "Request", item: Any) -> None:
        self.verb = request.verb
        self.now = request.now
        self.items = [item]
        self.results: list[Any] = []


def _item_by_item(raw: sqlite3.Connection, request: "Request", begin: Begin) -> None:
    """A handler's write ended the transaction, or failed at COMMIT: whose it was shows item by item.

    What is everybody's in the middle of it is the answer to the rest only: the items before it are committed.
    """
    results: list[Any] = []
    for item in request.items:
        part = _Part(request, item)
        try:
            _transact(raw, [part], begin)
        except CommitUnknown:
            raise
        except StoreError as error:
            results.extend([error] * (len(request.items) - len(results)))
            break
        except sqlite3.Error as error:
            if not item.writes or is_everybodys(error):
                broken = named(error, request.verb)
                broken.__cause__ = error
                results.extend([broken] * (len(request.items) - len(results)))
                break
            failed = WriteFailed(f"a write of the handler failed, and its transaction with it: {error}")
            failed.__cause__ = error
            results.append(failed)
        else:
            results.extend(part.results)
    request.results = results


def _catch(requests: "Sequence[Request]", run: Any) -> bool:
    """Run; False if the requests are to be run again one by one, since one of them has a fault of its own."""
    try:
        run(requests)
    except BaseException as error:
        final = _final(error, requests)
        if final is None:
            return False
        for request in requests:
            request.error = final
    return True


def _stop(request: "Request", rest: "Sequence[Request]") -> bool:
    """After an unknown outcome nothing more is run: the rest is told so too."""
    if not isinstance(request.error, CommitUnknown):
        return False
    for other in rest:
        other.error = request.error
    return True


def _final(error: BaseException, requests: "Sequence[Request]") -> BaseException | None:
    if isinstance(error, StoreError):
        return error
    everybodys = isinstance(error, sqlite3.Error) and is_everybodys(error)
    if not everybodys and (len(requests) > 1 or _may_be_split(error, requests[0])):
        return None
    if isinstance(error, sqlite3.Error):
        if requests[0].verb == "write" and not everybodys:
            return WriteFailed(f"a write failed, and its transaction with it: {error}")
        renamed = named(error, requests[0].verb)
        renamed.__cause__ = error
        return renamed
    return error


def _may_be_split(error: BaseException, request: "Request") -> bool:
    writes = request.verb == "commit_step" and any(item.writes for item in request.items)
    return writes and isinstance(error, sqlite3.Error)


def _transact(raw: sqlite3.Connection, requests: "Sequence[Request | _Part]", begin: Begin) -> None:
    raw.execute("begin immediate")
    try:
        verbs = tuple(dict.fromkeys(request.verb for request in requests))
        for verb in verbs:
            points.reach(verb, "begin")
        tx = begin(raw)
        for verb, now, members in _merged(tx, requests):
            items = [item for request in members for item in request.items]
            tx.begin(verb, now)
            results = VERBS[verb](tx, items)
            first = 0
            for request in members:
                request.results = results[first : first + len(request.items)]
                first += len(request.items)
            assert first == len(results), f"{verb} has answers for {len(results)} of {first} items"
        tx.finish(verbs)
        for verb in verbs:
            points.reach(verb, "before_commit")
    except BaseException as error:
        roll_back(raw, error)
        raise
    commit(raw)
    for verb in verbs:
        points.reach(verb, "after_commit")
    tx.names.learn(tx.found)


def _merged(
    tx: Transaction, requests: "Sequence[Request | _Part]"
) -> "Iterator[tuple[str, int | None, list[Request | _Part]]]":
    """Requests of one verb as one; on the wall clock in an order of ours, on a logical one in the order they came."""
    if len(requests) > 1 and tx.control.clock == "wall":
        requests = sorted(requests, key=lambda request: RANK[request.verb])
    members: list[Request | _Part] = []
    for request in requests:
        if members and (request.verb, request.now) != (members[0].verb, members[0].now):
            yield members[0].verb, members[0].now, members
            members = []
        members.append(request)
    yield members[0].verb, members[0].now, members


def commit(raw: sqlite3.Connection) -> None:
    """COMMIT; an error out of it means that the outcome is unknown, but for a full disk and for a deferred constraint
    of a handler's own tables: that one leaves the transaction open, so it was not committed."""
    try:
        raw.execute("commit")
    except sqlite3.Error as error:
        deferred = raw.in_transaction and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CONSTRAINT
        roll_back(raw, error)
        if deferred:
            raise
        raise unknown(error) from error


def roll_back(raw: sqlite3.Connection, first: BaseException) -> None:
    """Undo what is open; the engine may have done so itself, and the first error is the one that counts."""
    if raw.in_transaction:
        try:
            raw.execute("rollback")
        except sqlite3.Error as error:
            if raw.in_transaction:
                text = f"{first}; then the transaction could not be rolled back ({error}): reopen the store"
                raise CommitUnknown(text) from first


def _run_alone(raw: sqlite3.Connection, request: "Request", begin: Begin) -> None:
    """What cannot join a group: a checkpoint, an app's own schema, rows that stand or fall with admissions."""
    if request.verb == "write":
        _transact(raw, [request], begin)
        return
    if request.verb == "checkpoint":
        raw.execute("pragma wal_checkpoint(truncate)").fetchall()
        request.results = [None]
        return
    raw.execute("begin immediate")
    try:
        tx = Transaction(raw, Names(), time.time_ns() // 1_000_000)
        tx.verb = request.verb
        points.reach(request.verb, "begin")
        request.results = VERBS[request.verb](tx, request.items)
        points.reach(request.verb, "before_commit")
    except BaseException as error:
        roll_back(raw, error)
        raise
    commit(raw)
    points.reach(request.verb, "after_commit")

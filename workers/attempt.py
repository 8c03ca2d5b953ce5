"""One attempt: begin, run, classify, decide.

`begin` gives the handler its context, `run` calls it in its place's scope, whose deadline becomes the step's time
limit, `classify` says what its ending means, `decide` makes of that the outcome for the store. Nothing that a handler
raises gets past `run`; only a cancellation does, by the time limit or from outside, and only once the handler has
ended. What it leaves open in the scope is for the place to find.
"""

import copy
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any

from anyio.lowlevel import checkpoint_if_cancelled

from runtime.protocol.canonical import Canonical
from runtime.protocol.ports import Outcome, Scope
from runtime.protocol.records import Callback, Claim, Commit, Worker
from workers.context import Context
from workers.findings import Ending, Finding, OutOfTime, Raised, Returned
from workers.handlers import Bound, Kind
from workers.ports import Source
from workers.processes import Processes
from workers.reasons import reason_of
from workers.threads import Threads

LATEST_S = 0.01
LOOP = Kind.LOOP  # bound once: on Python 3.11 an enumeration finds its members by a call


class Rooms:
    """Where handlers run, and what they may read. `wall`: time limits are milliseconds; else nothing is timed here."""

    def __init__(self, source: Source, store_id: str, *, wall: bool, threads: Threads, processes: Processes) -> None:
        self.source = source
        self.store_id = store_id
        self.wall = wall
        self.clock: Callable[[], float] = time.monotonic  # what anyio's clock is, without asking for the loop
        self.threads = threads
        self.processes = processes


def begin(claim: Claim, bound: Bound, rooms: Rooms) -> Context:
    """The handler's context; its time starts now."""
    deadline = rooms.clock() + bound.step.time_limit / 1000 if rooms.wall else math.inf
    params = copy.deepcopy(bound.params) if bound.mutable else dict(bound.params)
    return Context(claim, bound.step, params, rooms.store_id, deadline, rooms.source)


def run(context: Context, bound: Bound, rooms: Rooms, scope: Scope) -> Coroutine[Any, Any, Ending]:
    """How the handler ended. What it does after its time limit does not count."""
    if rooms.wall:
        _limit(scope, context.deadline, bound.step.time_limit / 1000)
    if bound.kind is LOOP:
        return _in_loop(context, bound, scope)
    return _elsewhere(context, bound, rooms, scope)


def out_of_time(bound: Bound, *, begun: bool) -> OutOfTime | Finding:
    """The ending of a handler that was cancelled by its time limit."""
    if begun:
        return OutOfTime(bound.step.time_limit, "the handler was cancelled")
    return Finding("fail", f"time limit of {bound.step.time_limit} ms reached before the handler began")


def decide(finding: Canonical | Finding, claim: Claim, context: Context, worker: Worker) -> Outcome:
    """The outcome for the store: a value with the writes that go with it, or why there is none."""
    writes = context.close()
    if isinstance(finding, Canonical):
        return Outcome("commit_step", Commit(claim.token, finding, worker, writes))
    return Outcome(finding.verb, Callback(claim.token, finding.reason, worker.id, finding.after_ms))


def _limit(scope: Scope, deadline: float, limit_s: float) -> None:
    """Have the scope end at the deadline, or a little later (a thousandth of the limit, at most `LATEST_S`): the
    attempts of a row share a scope, and moving its deadline each time would cost more than a small handler does."""
    slack_s = limit_s / 1000 if limit_s < LATEST_S * 1000 else LATEST_S
    if not deadline <= scope.deadline <= deadline + slack_s:
        scope.deadline = deadline + slack_s


async def _in_loop(context: Context, bound: Bound, scope: Scope) -> Ending:
    if scope.cancel_called:
        await checkpoint_if_cancelled()
    context.begun = True
    try:
        value = await bound.function(context, **context.parameters)
    except GeneratorExit as error:
        return Raised(error)
    except BaseException as error:
        await checkpoint_if_cancelled()
        return Raised(error)
    if _may_be_cancelled(scope):
        await checkpoint_if_cancelled()
    return Returned(value)


def _may_be_cancelled(scope: Scope) -> bool:
    """Whether the scope or one around it may be cancelled: a quick look before the full one, which has to find the
    task and its scopes first.

    anyio has no public way to the scopes around one; where this one is gone the answer is yes, and the full look tells.
    """
    known: Any = scope
    try:
        while known is not None and not known._cancel_called:
            known = None if known._shield else known._parent_scope
    except AttributeError:
        return True
    return known is not None


async def _elsewhere(context: Context, bound: Bound, rooms: Rooms, scope: Scope) -> Ending:
    ending = await _called(context, bound, rooms)
    if scope.cancel_called and rooms.clock() >= context.deadline:
        return OutOfTime(bound.step.time_limit, _afterwards(ending))
    return ending


async def _called(context: Context, bound: Bound, rooms: Rooms) -> Ending:
    try:
        if bound.kind is Kind.THREAD:
            return await rooms.threads.call(bound.function, context, context.parameters)
        return await rooms.processes.call(context, bound)
    except Exception as error:
        return Raised(error)


def _afterwards(ending: Ending) -> str:
    if isinstance(ending, Raised):
        return f"the handler could not be cancelled and ended later with {reason_of(ending.error)}"
    return "the handler could not be cancelled and returned a value later, which is not committed"

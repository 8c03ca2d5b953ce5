"""One attempt: begin, run, classify, decide.

`begin` gives the handler its context, `run` calls it within the step's time limit, `classify` says what its ending
means, `decide` makes of that the outcome for the store. Nothing that a handler does gets past `run`; only a
cancellation from outside does, and only once the handler has ended.
"""

import copy
import math
import time
from collections.abc import Callable
from contextlib import suppress

from anyio import CancelScope
from anyio.lowlevel import checkpoint_if_cancelled

from runtime.protocol.ports import Outcome
from runtime.protocol.records import Callback, Claim, Commit, Worker
from workers.context import Context
from workers.findings import Ending, Finding, OutOfTime, Raised, Returned
from workers.handlers import Bound, Kind
from workers.ports import Source
from workers.processes import Processes
from workers.reasons import reason_of
from workers.threads import Threads


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


async def run(context: Context, bound: Bound, rooms: Rooms) -> Ending:
    """How the handler ended. What it does after its time limit does not count."""
    scope = CancelScope(deadline=context.deadline)
    ending: Ending | None = None
    try:
        with scope:
            if bound.kind is Kind.LOOP:
                ending = await _in_loop(context, bound)
            else:
                ending = await _elsewhere(context, bound, rooms)
    except RuntimeError:
        _unwind(scope)
        return Finding(
            "fail", "the handler left a cancel scope or a task group open (or an async generator that holds one)"
        )
    if scope.cancel_called and not context.begun:
        return Finding("fail", f"time limit of {bound.step.time_limit} ms reached before the handler began")
    if scope.cancel_called:
        return OutOfTime(bound.step.time_limit, _afterwards(ending))
    return ending if ending is not None else Raised(RuntimeError("the handler ended in no known way"))


def decide(finding: Returned | Finding, claim: Claim, context: Context, worker: Worker) -> Outcome:
    """The outcome for the store: a value with the writes that go with it, or why there is none."""
    writes = context.close()
    if isinstance(finding, Returned):
        return Outcome("commit_step", Commit(claim.token, finding.value, worker, writes))
    return Outcome(finding.verb, Callback(claim.token, finding.reason, worker.id, finding.after_ms))


async def _in_loop(context: Context, bound: Bound) -> Ending:
    await checkpoint_if_cancelled()
    context.begun = True
    try:
        value = await bound.function(context, **context.parameters)
    except GeneratorExit as error:
        return Raised(error)
    except BaseException as error:
        await checkpoint_if_cancelled()
        return Raised(error)
    await checkpoint_if_cancelled()
    return Returned(value)


async def _elsewhere(context: Context, bound: Bound, rooms: Rooms) -> Ending:
    try:
        if bound.kind is Kind.THREAD:
            return await rooms.threads.call(bound.function, context, context.parameters)
        return await rooms.processes.call(context, bound)
    except Exception as error:
        return Raised(error)


def _unwind(scope: CancelScope) -> None:
    """Cancel and leave the scopes that a handler left open, innermost first, so that its task can be used again.

    anyio has no public way to find them; where this one is gone the error of the scope outside reports the fault.
    """
    for inner in tuple(getattr(scope, "_child_scopes", ())):
        inner.cancel()
        _unwind(inner)
    with suppress(RuntimeError):
        scope.__exit__(None, None, None)


def _afterwards(ending: Ending | None) -> str:
    match ending:
        case Returned():
            return "the handler could not be cancelled and returned a value later, which is not committed"
        case Raised(error):
            return f"the handler could not be cancelled and ended later with {reason_of(error)}"
        case _:
            return "the handler was cancelled"

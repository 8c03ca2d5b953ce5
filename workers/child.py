"""The process of a `process=True` handler: `python -m workers.child`, started by a worker and ended with it.

It speaks the lines of `workers.lines` on its standard input and output; what the handler prints goes to standard error.
"""

import math
import os
import queue
import signal
import sys
import threading
import time
from typing import Any, BinaryIO

from runtime.protocol.canonical import decode
from runtime.protocol.errors import KeepstepError, WriteFailed
from workers.app import App
from workers.context import Facts
from workers.findings import Finding, Returned, classify, finding_of
from workers.handlers import Handler
from workers.lines import (
    Ask,
    Call,
    Ended,
    Hello,
    Ready,
    Reply,
    ToChild,
    ToParent,
    read_in_child,
    unwrap,
    wrap,
    write_line,
)
from workers.ports import Params
from workers.reasons import reason_of
from workers.target import load

RAISED: dict[str, type[Exception]] = {"LookupError": LookupError, "WriteFailed": WriteFailed}


class Pipe:
    """The two ends of a child. A thread reads, so that the process ends at once when its worker is gone."""

    def __init__(self) -> None:
        self._out: BinaryIO = os.fdopen(os.dup(1), "wb", buffering=0)
        self._in: BinaryIO = os.fdopen(os.dup(0), "rb")
        os.dup2(2, 1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="keepstep lines", daemon=True).start()

    def receive(self) -> ToChild:
        """The next message of the parent."""
        return read_in_child(self._lines.get())

    def send(self, message: ToParent) -> None:
        """One message to the parent."""
        line = write_line(message)
        while line:
            line = line[self._out.write(line) :]

    def _read(self) -> None:
        for line in self._in:
            self._lines.put(line)
        os._exit(0)


class ChildContext(Facts):
    """What a handler in a process is given: the names of `SyncContext`; reading is asked of the worker."""

    __slots__ = ("_pipe",)

    def __init__(self, call: Call, parameters: dict[str, Any], pipe: Pipe) -> None:
        deadline = math.inf if call.left_s is None else time.monotonic() + call.left_s
        super().__init__(call.claim, call.step, parameters, call.store_id, deadline)
        self._pipe = pipe

    def effect(self, step: str) -> Any:
        """The value that an earlier step of this job committed; see `Context.effect`."""
        return self._ask("effect", [step])

    def query(self, sql: str, params: Params = ()) -> Any:
        """The rows of one reading statement on the worker's file."""
        return unwrap(self._ask("query", [sql, wrap(params)]))

    def _ask(self, what: str, args: list[Any]) -> Any:
        self._pipe.send(Ask(what, args))
        reply = self._pipe.receive()
        if not isinstance(reply, Reply):
            raise KeepstepError(f"the worker answered a question with {type(reply).__name__}")
        if reply.error is not None:
            raise RAISED.get(reply.kind or "", KeepstepError)(reply.error)
        return reply.value


def attempt(handler: Handler, call: Call, pipe: Pipe) -> Ended:
    """Run the handler and put its ending into a message."""
    context = ChildContext(call, call.step.params, pipe)
    try:
        value = handler.function(context, **context.parameters)
    except BaseException as error:
        return Ended(finding=finding_of(error))
    found = classify(Returned(value), hold=False)
    if isinstance(found, Finding):
        return Ended(finding=found)
    writes: list[tuple[str, Any]] = [(write.sql, wrap(write.params)) for write in context.close()]
    return Ended(decode(found.text), writes)


def serve(pipe: Pipe) -> None:
    """Load the app, then run one handler after another."""
    hello = pipe.receive()
    assert isinstance(hello, Hello)
    sys.path[:] = hello.path
    try:
        app: App = load(hello.target)
    except BaseException as error:
        pipe.send(Ready(reason_of(error)))
        return
    pipe.send(Ready())
    while True:
        call = pipe.receive()
        assert isinstance(call, Call)
        handler = app.handlers.get(call.step.op)
        if handler is None:
            reason = f"the app as loaded in the handler's process has no handler {call.step.op!r}"
            pipe.send(Ended(finding=("fail", reason, None, None)))
            continue
        ended = attempt(handler, call, pipe)
        try:
            pipe.send(ended)
        except (TypeError, ValueError) as error:
            pipe.send(Ended(finding=("fail", f"the handler's writes are not for a line of JSON: {error}", None, None)))


def main() -> None:
    """The worker decides when a child ends; signals for the whole group are the worker's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve(Pipe())


if __name__ == "__main__":
    main()

"""An app whose handlers run in processes; the children import this module."""

import os
import signal
import sys
import time
from typing import Any

from workers import App, Quarantine, Retry, step

app = App("cpu", abi="cpu/1")


@app.step(process=True)
def square(ctx: Any, *, plus: int = 0) -> Any:
    print("said by a handler")
    return [ctx.payload["n"] ** 2 + plus, os.getpid()]


@app.step(process=True)
def reads(ctx: Any) -> Any:
    rows = ctx.query("select ?, ?", (b"\x00\xff", ctx.id))
    ctx.execute("insert into t values (?, :n)", {"n": b"\x01"})
    ctx.execute("insert into t values (?)", (rows[0][0],))
    return [ctx.effect("base"), rows[0][1], ctx.step, ctx.attempt, ctx.idempotency_key, 0 < ctx.time_left <= 3600]


@app.step(process=True)
def ends(ctx: Any) -> Any:
    match ctx.payload:
        case "exit":
            os._exit(7)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "sys.exit":
            sys.exit(3)
        case "retry":
            raise Retry("5s", "busy")
        case "quarantine":
            raise Quarantine("no use")
        case "lookup":
            return ctx.effect("nothing")
        case "not json":
            return {1, 2}
        case "bad write":
            ctx.execute("insert into t values (?)", (object(),))
        case "spin":
            print("spinning", flush=True)
            while True:
                time.monotonic()
    return None


SQUARE = app.manifest([("base", square, {"plus": 1})])
READS = app.manifest([("base", square), ("reads", reads)], workflow="reads")
ENDS = app.manifest([("base", ends)], workflow="ends")
HELD = app.manifest([step("base", ends, on_lapse="hold")], workflow="held")
BRIEF = app.manifest([step("base", ends, time_limit=200)], workflow="brief")

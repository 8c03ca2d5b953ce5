"""Apps whose handlers cases run in processes of their own. Every handler notes that it has begun."""

import os
from typing import Any

import anyio

from runtime.store.inbox import Inbox
from tests.cases.notes import folder, gate, note
from workers import App, Context, Quarantine, step
from workers.relay import FOLLOWS, Relay, reason

app = App("cases", abi="cases/1")
app.schema("cases", "create table done_call (job text, step text, generation integer) strict")


@app.step
async def quick(ctx: Context, *, seconds: float = 0) -> str:
    """Ends at once, or after so many seconds; its own row is written with the effect."""
    note(ctx, "begin")
    if seconds:
        await anyio.sleep(seconds)
    ctx.execute("insert into done_call (job, step, generation) values (?, ?, ?)", (ctx.id, ctx.step, ctx.generation))
    note(ctx, "end")
    return ctx.step


@app.step
async def gated(ctx: Context) -> str:
    """Waits for the gate that its payload names; it can be cancelled."""
    note(ctx, "begin")
    await gate(ctx.payload["gate"])
    note(ctx, "end")
    return "through"


@app.step
async def echo(ctx: Context) -> object:
    """Its payload, as it arrived."""
    note(ctx, "begin", payload=ctx.payload)
    return ctx.payload


@app.step
async def deliver(ctx: Context) -> object:
    """Delivers its payload to the receiver in the case's folder, as the relay does."""
    note(ctx, "begin")
    async with await Inbox.open(folder() / "receiver.db") as inbox:
        receipt = await Relay(inbox).deliver(ctx.id, ctx.flow, ctx.seq, ctx.payload)
    note(ctx, "end", word=receipt.verdict)
    match FOLLOWS[receipt.verdict]:
        case "fail":
            raise RuntimeError(reason(receipt))
        case "quarantine":
            raise Quarantine(reason(receipt))
    return {"received": receipt.verdict}


@app.step
async def dies(ctx: Context) -> None:
    """Ends the whole process, as the kernel does when memory is short; neighbours in flight would lose an attempt."""
    note(ctx, "begin")
    await anyio.sleep(0.3)
    os._exit(137)


LEASE_S = 1.0
SHORT: dict[str, Any] = {"lease": 1_000, "base": 100, "ceiling": 1_000, "time_limit": "1h"}
QUICK = app.manifest([step("only", quick, **SHORT)], workflow="quick")
STEADY = app.manifest([("only", quick)], workflow="steady")  # a lease that no busy machine misses
GATED = app.manifest([step("only", gated, **SHORT)], workflow="gated")
GATED_TWICE = app.manifest([step("only", gated, **{**SHORT, "budget": 2})], workflow="gated-twice")
ECHO = app.manifest([step("only", echo, **SHORT)], workflow="echo")
DELIVER = app.manifest([step("only", deliver, **SHORT)], workflow="deliver")
DIES = app.manifest([step("only", dies, **SHORT)], workflow="dies")
TWO = app.manifest([step("first", quick, **SHORT), step("second", quick, **SHORT)], workflow="two")
THREE = app.manifest([step(name, quick, **SHORT) for name in ("first", "second", "third")], workflow="three")

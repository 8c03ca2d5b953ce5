"""What runs user code: an app's handlers and manifests, and the attempts that a worker makes.

Writing handlers, in short:

    from workers import App, OutcomeUnknown, Quarantine, Retry, step

    app = App("points", abi="local-ledger/1")

    @app.step
    async def credit(ctx, *, per_unit: int = 0, flat: int = 0) -> int:
        return ctx.payload["units"] * per_unit + flat

    V1 = app.manifest([("base", credit, {"per_unit": 1}), step("bonus", credit, {"flat": 1}, time_limit="30s")])

- A handler takes the context and the parameters that its step's manifest gives, and returns JSON: the step's effect.
- `async def` runs on the event loop and must not block it; a plain `def` runs in a thread, where the same names of the
  context work without `await`; `@app.step(process=True)` runs a `def` in a process of its own, for work on the CPU.
- An attempt can be repeated: after a crash, a lapsed lease, a failure. What leaves the database carries
  `ctx.idempotency_key`, which is the same in every attempt at that step.
- `ctx.execute(sql, params)` hands over a write to your own table in the same file: it is applied with the effect or
  not at all. `app.schema(name, sql)` creates the table. `await ctx.query(sql, params)` reads, `await
  ctx.effect("base")` gives an earlier step's value.
- Any exception fails the attempt: it is repeated after a wait, until the step's budget is spent; then a person
  decides. `raise Retry(after="30s")` sets the wait, `raise Quarantine("why")` gives up at once, `raise
  OutcomeUnknown("why")` says that nobody knows whether it happened.
- At its time limit a handler is cancelled. A thread cannot be: it keeps its place until it ends, so look at
  `ctx.time_left`. Let a cancellation through: what a handler returns after one is not committed.
- `step(…, on_lapse="hold")` is for an effect outside that must not be repeated unseen: a lost worker, a time limit or a
  cancellation then leaves the job to a person instead of the next worker.

`demos/README.md` has an app that shows all of it, and what becomes of its jobs.
"""

from workers.app import App
from workers.context import Context, SyncContext
from workers.endings import OutcomeUnknown, Quarantine, Retry
from workers.steps import step

__all__ = ["App", "Context", "OutcomeUnknown", "Quarantine", "Retry", "SyncContext", "step"]

"""What the soak's pools run: three steps, each of which writes one row of its own beside its effect."""

import anyio

from workers import App, Context, step

app = App("soak", abi="soak/1")
app.schema("soak", "create table soak_row (job text not null, step text not null) strict")


@app.step
async def mark(ctx: Context, *, label: str) -> str:
    """One row without any constraint: if a step were committed twice, it would be there twice."""
    await anyio.lowlevel.checkpoint()
    ctx.execute("insert into soak_row (job, step) values (?, ?)", (ctx.id, label))
    return label


STEPS = ("first", "second", "third")
SOAK = app.manifest([step(name, mark, {"label": name}, lease="1s", base=10, budget=10_000) for name in STEPS])

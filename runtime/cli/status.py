"""status: where everything is, as one photograph or as a live page."""

import sys
import time
from typing import Annotated, Any

from cyclopts import Parameter

from runtime.cli.exits import Exit, Stop
from runtime.cli.options import Db, Duration, Output, Some
from runtime.cli.output import console, document, rows
from runtime.cli.session import opened


async def status(
    *,
    db: Db,
    watch: Annotated[bool, Parameter(name=("--watch", "-w"), negative=(), help="A live page; Ctrl-C ends it.")] = False,
    every: Annotated[Duration, Parameter(help="With --watch: how often to look.")] = 500,
    flows: Annotated[int, Some, Parameter(help="At most so many flows, those with most unfinished jobs first.")] = 10,
    output: Output = "text",
) -> int:
    """Where everything is: mode, jobs by state, definitions and who declares them, flows, quarantined jobs, workers.

    ```
    status --db app.db
    status -o json --db app.db
    status --watch --db app.db
    ```

    One read transaction; it says when it was taken. The JSON's keys are frozen as format 1, more may follow.
    """
    if watch:
        if not sys.stdout.isatty() and output == "text":
            raise Stop("--watch draws a page on a terminal; elsewhere use -o jsonl, a line for every look")
        return await _watch(db, every, flows, output)
    from control.snapshot import status as shape
    from runtime.store.picture import picture

    async with opened(db) as store:
        taken = await picture(store, flows=flows if output == "text" else max(flows, 100))

    def render() -> Any:
        from runtime.cli.page import page

        return page(taken, str(db))

    document(shape(taken), output, render)
    return Exit.OK


async def _watch(db: Db, every_ms: int, flows: int, output: str) -> int:
    import anyio
    from rich.live import Live

    from control.snapshot import rates
    from control.snapshot import status as shape
    from runtime.cli.page import page
    from runtime.store.picture import picture

    async with opened(db) as store:
        before, looked = await picture(store, flows=flows), time.monotonic()
        if output != "text":
            while True:
                rows([shape(before)], "jsonl", lambda: "")
                sys.stdout.flush()
                await anyio.sleep(every_ms / 1000)
                before = await picture(store, flows=flows)
        with Live(page(before, str(db)), console=console(), screen=True, auto_refresh=False) as live:
            while True:
                await anyio.sleep(every_ms / 1000)
                after, now = await picture(store, flows=flows), time.monotonic()
                live.update(page(after, str(db), rates(before, after, now - looked)), refresh=True)
                before, looked = after, now

"""status: where everything is, as one photograph or as a live page."""

import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from runtime.cli.exits import Exit, Stop
from runtime.cli.options import Db, Duration, Output, Some
from runtime.cli.output import console, document, rows
from runtime.cli.session import opened

if TYPE_CHECKING:
    from runtime.store.store import Store


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
    """Look again and again until it is interrupted; that is its ordinary end."""
    import anyio

    async with opened(db) as store, anyio.create_task_group() as tasks:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            tasks.start_soon(_page if output == "text" else _lines, store, str(db), every_ms, flows)
            await anext(signals)
            tasks.cancel_scope.cancel()
    return Exit.OK


async def _lines(store: "Store", _name: str, every_ms: int, flows: int) -> None:
    import anyio

    from control.snapshot import status as shape
    from runtime.store.picture import picture

    while True:
        rows([shape(await picture(store, flows=flows))], "jsonl", lambda: "")
        sys.stdout.flush()
        await anyio.sleep(every_ms / 1000)


async def _page(store: "Store", name: str, every_ms: int, flows: int) -> None:
    import anyio
    from rich.live import Live

    from control.snapshot import rates
    from runtime.cli.page import page
    from runtime.store.picture import picture

    before, looked = await picture(store, flows=flows), time.monotonic()
    with Live(page(before, name), console=console(), screen=True, auto_refresh=False) as live:
        live.refresh()
        while True:
            await anyio.sleep(every_ms / 1000)
            after, now = await picture(store, flows=flows), time.monotonic()
            live.update(page(after, name, rates(before, after, now - looked)), refresh=True)
            before, looked = after, now

"""db init: make a database file."""

from typing import Annotated, Literal

from cyclopts import App, Parameter

from runtime.cli.options import Db
from runtime.cli.output import say, show
from runtime.cli.session import opened

db = App(name="db", help="Make a database file.")


@db.command
async def init(
    *,
    db: Db,
    clock: Annotated[
        Literal["wall", "logical"], Parameter(help="wall: milliseconds; logical: ticks, for tests. Chosen once.")
    ] = "wall",
) -> int:
    """Make a database file, private to you (0600); one that exists is left as it is.

    ```
    db init --db app.db
    ```
    """
    existed = db.exists()
    async with opened(db, create=True, clock=clock) as store:
        show(str(store.path))
        kind = store.clock
    if existed:
        say(f"it existed before and is left as it is (its clock is {kind})")
    return 0

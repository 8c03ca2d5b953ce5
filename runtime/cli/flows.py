"""flows list, flows set: which flows there are; ordered, or free with a width."""

from typing import Annotated, Any

from cyclopts import App, Parameter

from runtime.cli.answers import data, hint, line
from runtime.cli.exits import Exit, Stop, code_of
from runtime.cli.options import Actor, CommandId, Db, Limit, Output, Reason, actor_name
from runtime.cli.output import add, document, rows, say, table
from runtime.cli.session import opened

flows = App(name="flows", help="Flows keep order and fairness: list them; make one ordered, or free with a width.")


@flows.command(name="list")
async def list_(*, db: Db, limit: Limit = 50, output: Output = "text") -> int:
    """List flows with the most unfinished jobs first."""
    async with opened(db) as store:
        found = (await store.snapshot(flows=limit)).flows

    def render() -> Any:
        made = table(
            "FLOW",
            "KIND",
            "UNFINISHED",
            "TAKEN",
            "NEXT NO",
            "SERVED",
            right=("UNFINISHED", "TAKEN", "NEXT NO", "SERVED"),
        )
        for flow in found:
            kind = "ordered" if flow.width is None else f"free, width {flow.width}"
            add(made, flow.name, kind, flow.unfinished, flow.taken, flow.next_seq, flow.served)
        return made

    rows(found, output, render)
    if not found:
        say("no flow yet: `admit … --flow NAME` makes one")
    return Exit.OK


@flows.command(name="set")
async def set_(
    flow: Annotated[str, Parameter(help="The flow's name.")],
    /,
    *,
    db: Db,
    width: Annotated[int | None, Parameter(help="Free, with so many jobs in flight at once.")] = None,
    ordered: Annotated[bool, Parameter(negative=(), help="One job at a time, in their order.")] = False,
    reason: Reason = None,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Make a flow ordered, or free with a width. A smaller width stops nobody who is at work.

    ```
    flows set anna --width 8 --reason "bulk import" --db app.db
    flows set anna --ordered --reason "back to order" --db app.db
    ```

    Exit 0 set, 5 no such flow, or not to be ordered now (the cause is said).
    """
    if ordered == (width is not None):
        raise Stop("either --width N or --ordered is expected")
    if not (reason or "").strip():
        raise Stop("--reason is expected: the change leaves an audit row that says why")
    async with opened(db) as store:
        answer = await store.set(
            "width", width, reason or "", flow=flow, actor=actor_name(actor), command_id=command_id
        )
    document(data(answer), output, lambda: line(answer, f"flow {flow}"))
    if advice := hint(answer):
        say(advice)
    return code_of(answer)

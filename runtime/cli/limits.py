"""limits show, limits set: how many unfinished jobs are taken, and where newcomers join."""

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from runtime.cli.answers import data, hint, line
from runtime.cli.exits import Exit, Stop, worst
from runtime.cli.options import Actor, CommandId, Db, Output, Reason, actor_name
from runtime.cli.output import add, document, rows, say, show, table
from runtime.cli.session import opened

limits = App(name="limits", help="How many unfinished jobs are taken, in all and per flow; where newcomers join.")
Bound = Annotated[str | None, Parameter(help="A number, or none to lift it.")]


@limits.command(name="show")
async def show_(*, db: Db, output: Output = "text") -> int:
    """Show the limits that hold."""
    async with opened(db) as store:
        control = await store.control()
    value = {"capacity": control.capacity, "flow_capacity": control.flow_capacity, "newcomers": str(control.newcomers)}

    def render() -> Any:
        made = table("LIMIT", "VALUE", "MEANING")
        add(made, "capacity", value["capacity"] or "none", "unfinished jobs in the whole store; more are answered full")
        add(made, "flow-capacity", value["flow_capacity"] or "none", "unfinished jobs in one flow")
        add(made, "newcomers", value["newcomers"], "behind: new flows join after those waiting; first: before them")
        return made

    document(value, output, render)
    return Exit.OK


@limits.command(name="set")
async def set_(
    *,
    db: Db,
    capacity: Bound = None,
    flow_capacity: Bound = None,
    newcomers: Annotated[Literal["behind", "first"] | None, Parameter(help="Where new flows join.")] = None,
    reason: Reason = None,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Set limits. Lowering one evicts nobody; all unfinished jobs count, quarantined ones too.

    ```
    limits set --capacity 10000 --flow-capacity 500 --reason "disk" --db app.db
    limits set --capacity none --reason "bigger disk" --db app.db
    ```
    """
    wanted: dict[str, int | str | None] = {}
    if capacity is not None:
        wanted["capacity"] = _number(capacity, "--capacity")
    if flow_capacity is not None:
        wanted["flow_capacity"] = _number(flow_capacity, "--flow-capacity")
    if newcomers is not None:
        wanted["newcomers"] = newcomers
    if not wanted:
        raise Stop("--capacity, --flow-capacity or --newcomers is expected")
    if not (reason or "").strip():
        raise Stop("--reason is expected: the change leaves an audit row that says why")
    if command_id is not None and len(wanted) > 1:
        raise Stop("a command id stands for one change: set one limit at a time with --command-id")
    answers = []
    async with opened(db) as store:
        for name, value in wanted.items():
            answer = await store.set(name, value, reason or "", actor=actor_name(actor), command_id=command_id)
            answers.append((name, answer))
    if output == "text":
        for name, answer in answers:
            show(line(answer, name))
    else:
        rows([{"name": name, **data(answer)} for name, answer in answers], output, lambda: "")
    for _, answer in answers:
        if advice := hint(answer):
            say(advice)
    return worst(answer for _, answer in answers)


def _number(text: str, option: str) -> int | None:
    if text.lower() == "none":
        return None
    try:
        return int(text)
    except ValueError:
        raise Stop(f"{option}: a number or none is expected, got {text!r}") from None

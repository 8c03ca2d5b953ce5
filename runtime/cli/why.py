"""why: what a job, a flow, a drain or a definition waits for, on one screen."""

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from runtime.cli.exits import Exit, Stop
from runtime.cli.options import Db, Limit, Output, Some
from runtime.cli.output import add, document, one_line, printable, short, table
from runtime.cli.session import opened

if TYPE_CHECKING:
    from control.explain import Why

why = App(name="why", help="Why a job, a flow, a drain or a definition is not further: each blocker by name and cause.")


@why.command
async def job(
    id: Annotated[str, Parameter(help="The job's identity.")],  # noqa: A002
    /,
    *,
    db: Db,
    output: Output = "text",
) -> int:
    """Why one job is not further, and what to do about it.

    ```
    why job job-1 --db app.db
    ```
    """
    from control.explain import why_job

    async with opened(db) as store:
        found = await why_job(store, id)
    return _answer(found, f"there is no job {id!r} in {db}; `jobs list` shows what there is", output)


@why.command
async def flow(
    name: Annotated[str, Parameter(help="The flow's name.")],
    /,
    *,
    db: Db,
    limit: Limit = 20,
    output: Output = "text",
) -> int:
    """What the unfinished jobs of a flow wait for, in their order.

    ```
    why flow anna --db app.db
    ```
    """
    from control.explain import why_flow

    async with opened(db) as store:
        found = await why_flow(store, name, limit=limit)
    return _answer(found, f"there is no flow {name!r} in {db}; `flows list` shows what there is", output)


@why.command
async def drain(
    *,
    db: Db,
    limit: Annotated[int, Some, Parameter(help="At most so many jobs of each cause by name.")] = 20,
    output: Output = "text",
) -> int:
    """Why the store is not drained: every cause with its count, and jobs by name. The counts add up to the total.

    ```
    why drain --db app.db
    ```
    """
    from control.explain import why_drain

    async with opened(db) as store:
        found = await why_drain(store, limit=limit)
    return _answer(found, "", output)


@why.command
async def definition(
    digest: Annotated[str, Parameter(help="The definition; the beginning of its digest will do.")],
    /,
    *,
    db: Db,
    limit: Annotated[int, Some, Parameter(help="At most so many jobs by name.")] = 20,
    output: Output = "text",
) -> int:
    """Who declares a definition, and what its unfinished jobs wait for.

    ```
    why definition 3f9a41 --db app.db
    ```
    """
    from control.explain import why_definition

    async with opened(db) as store:
        found = await why_definition(store, digest, limit=limit)
    return _answer(found, f"definition {digest} is not registered in {db}; `definitions list` shows what is", output)


def _answer(found: "Why | None", missing: str, output: str) -> int:
    if found is None:
        raise Stop(missing, Exit.REFUSED)
    document(found, output, lambda: render_why(found))
    return Exit.OK


def render_why(why: "Why") -> Any:
    """The line that sums it up, what to do, counts by cause, jobs by name, definitions that nobody live declares."""
    from rich.console import Group
    from rich.text import Text

    from control.times import Clock

    clock = Clock(why.clock, why.now)
    parts: list[Any] = [Text(printable(f"{why.subject}: {why.summary}"), style="bold")]
    if why.next:
        parts.append(Text(printable(f"next: {why.next}")))
    if why.causes:
        causes = table("JOBS", "CAUSE", "OLDEST", "MEANING", right=("JOBS",))
        for cause in why.causes:
            add(causes, cause.jobs, cause.cause, clock.ago(cause.oldest), cause.text)
        parts += [Text(""), causes]
    if len(why.jobs) > 1 or why.causes:
        named = table("JOB", "FLOW", "NO", "WORKFLOW", "DEFINITION", "WHY", right=("NO",))
        for item in why.jobs:
            add(
                named,
                item.job.job,
                item.job.flow,
                item.job.seq,
                item.job.workflow,
                short(item.job.digest),
                one_line(item.text),
            )
        parts += [Text(""), named]
    for cover in why.uncovered:
        text = f"no live worker declares {short(cover.digest)} ({cover.workflow}): {cover.unfinished} unfinished"
        parts.append(Text(printable(text), style="yellow"))
    return Group(*parts)

"""jobs list, jobs show: which jobs there are; one job's whole life."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from runtime.cli.exits import Exit, Stop
from runtime.cli.options import Db, Limit, Output
from runtime.cli.output import add, document, one_line, plain, rows, say, short, table
from runtime.cli.session import opened

if TYPE_CHECKING:
    from control.times import Clock
    from runtime.protocol.records import JobRecord

jobs = App(name="jobs", help="List jobs; show one job's whole life.")
HEADINGS = ("JOB", "STATE", "STEP", "ATTEMPT", "FLOW", "NO", "WORKFLOW", "DEFINITION", "SINCE", "WHY")
States = Literal["ready", "waiting", "inflight", "quarantined", "done"]


@jobs.command(name="list")
async def list_(
    *,
    db: Db,
    state: Annotated[States | None, Parameter(help="Only jobs of this state.")] = None,
    flow: Annotated[str | None, Parameter(help="Only jobs of this flow.")] = None,
    definition: Annotated[str | None, Parameter(help="Only jobs bound to it; a digest's beginning will do.")] = None,
    after: Annotated[str | None, Parameter(help="Go on after this job: the last one of the page before.")] = None,
    limit: Limit = 50,
    output: Output = "text",
) -> int:
    """List jobs, oldest first, a page at a time.

    ```
    jobs list --state quarantined --db app.db
    jobs list --flow anna --limit 200 -o jsonl --db app.db
    ```
    """
    from control.find import clock_of, digest_of

    async with opened(db) as store:
        digest = await digest_of(store, definition) if definition else None
        page = await store.jobs(state=state, flow=flow, digest=digest, after=after, limit=limit)
        clock = await clock_of(store)

    rows(page, output, lambda: _listed(page, clock))
    if output == "text":
        if not page:
            say("no such jobs")
        elif len(page) == limit:
            say(f"there may be more: --after {page[-1].id} shows the next page")
    return Exit.OK


@jobs.command
async def show(
    job: Annotated[str, Parameter(help="The job's identity.")],
    /,
    *,
    db: Db,
    output: Output = "text",
) -> int:
    """Show one job's whole life: admission, binding, claims, failures, effects, what people did to it.

    ```
    jobs show job-1 --db app.db
    ```
    """
    from control.explain import why_job
    from control.life import life_of

    async with opened(db) as store:
        life = await life_of(store, job)
        why = await why_job(store, job)
    if life is None or why is None:
        raise Stop(f"there is no job {job!r} in {db}; `jobs list` shows what there is", Exit.REFUSED)
    value = {**plain(life), "why": why.summary, "next": why.next}

    def render() -> Any:
        from runtime.cli.life import render_life

        return render_life(life, why)

    document(value, output, render)
    return Exit.OK


def shown_state(job: "JobRecord") -> str:
    """A ready job with a due time is waiting for it."""
    return "waiting" if job.state == "ready" and job.due is not None else str(job.state)


def _listed(page: "Sequence[JobRecord]", clock: "Clock") -> Any:
    made = table(*HEADINGS, right=("STEP", "ATTEMPT", "NO"))
    for job in page:
        place = (job.cursor, job.attempts, job.flow, job.seq, job.workflow, short(job.current_digest))
        add(made, job.id, shown_state(job), *place, clock.ago(job.since), one_line(job.reason, 60))
    return made

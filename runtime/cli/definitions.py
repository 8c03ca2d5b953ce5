"""definitions: register, switch, list, coverage, migrate."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from runtime.cli.answers import data, hint, line
from runtime.cli.exits import Exit, Stop, code_of
from runtime.cli.operate import AtMost, DryRun, EffectsChecked, Jobs, _what, operate
from runtime.cli.options import Actor, CommandId, Db, Observed, Output, Reason, actor_name
from runtime.cli.output import add, document, rows, say, short, table
from runtime.cli.session import opened

if TYPE_CHECKING:
    from runtime.store.explain import Coverage

definitions = App(name="definitions", help="Definitions of workflows: register, switch, list, coverage, migrate.")
Digest = Annotated[str, Parameter(help="A definition; the beginning of its digest will do.")]


@definitions.command
async def register(
    file: Annotated[str, Parameter(help="A manifest as JSON, or - for stdin.", allow_leading_hyphen=True)],
    /,
    *,
    db: Db,
    output: Output = "text",
) -> int:
    """Register a manifest. It changes where no job goes: `definitions switch` does that.

    ```
    definitions register points.json --db app.db
    ```
    """
    from runtime.protocol.canonical import parse
    from runtime.protocol.manifest import manifest_from

    manifest = manifest_from(parse(_read(file), "manifest"))
    async with opened(db) as store:
        answer = await store.register(manifest)
    document(data(answer), output, lambda: f"{answer.verdict} {answer.digest} ({manifest.name})")
    return code_of(answer)


@definitions.command
async def switch(
    digest: Digest,
    /,
    *,
    db: Db,
    if_revision: Annotated[
        int | None,
        Observed,
        Parameter(help="Only if the route is still at this revision; without it the present one is used."),
    ] = None,
    require_coverage: Annotated[
        bool, Parameter(negative=(), help="Refuse (exit 5) when no live worker declares the definition.")
    ] = False,
    reason: Reason = None,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Send new jobs of the definition's workflow to it. No existing job changes.

    ```
    definitions switch 3f9a41 --reason "deploy 12" --db app.db
    ```

    Exit 0 switched, 4 somebody switched meanwhile, 5 no coverage.
    """
    from control.find import digest_of, route_of
    from runtime.store.explain import coverage

    async with opened(db) as store:
        found = await digest_of(store, digest)
        cover = next((cover for cover in await coverage(store) if cover.digest == found), None)
        _warn(cover, require_coverage)
        route = await route_of(store, cover.workflow) if cover is not None else None
        if if_revision is None and cover is not None:
            present = f"goes to {short(route.digest)} (revision {route.revision})" if route else "has no route yet"
            say(f"{cover.workflow} {present}")
        revision = if_revision if if_revision is not None else route.revision if route else 0
        answer = await store.switch(found, revision, reason=reason, actor=actor_name(actor), command_id=command_id)
    workflow = f"{cover.workflow} to " if cover is not None else ""
    document(data(answer), output, lambda: line(answer, f"{workflow}{short(found)}"))
    if advice := hint(answer):
        say(advice)
    return code_of(answer)


def _warn(cover: "Coverage | None", require_coverage: bool) -> None:
    if cover is None or cover.workers:
        return
    said = f"no live worker declares {short(cover.digest)}: new jobs of {cover.workflow} would wait until one does"
    if require_coverage:
        raise Stop(f"{said}; nothing was switched: start one (`work MODULE:APP`) first", Exit.REFUSED)
    say(f"warning: {said}")


@definitions.command(name="list")
async def list_(*, db: Db, output: Output = "text") -> int:
    """List what is registered: workflow, steps, where new jobs go, how many are unfinished, who declares it."""
    from runtime.store.explain import coverage

    async with opened(db) as store:
        known = dict(await store.definitions())
        covers = await coverage(store)
    items = [_entry(cover, known[cover.digest].steps) for cover in covers if cover.digest in known]

    def render() -> Any:
        made = table(
            "DEFINITION",
            "WORKFLOW",
            "STEPS",
            "ROUTE",
            "UNFINISHED",
            "DONE",
            "WORKERS",
            right=("ROUTE", "UNFINISHED", "DONE", "WORKERS"),
        )
        for item in items:
            route = "-" if item["revision"] is None else f"rev {item['revision']}"
            add(
                made,
                short(item["digest"]),
                item["workflow"],
                " → ".join(item["steps"]),
                route,
                item["unfinished"],
                item["done"],
                len(item["workers"]),
            )
        return made

    rows(items, output, render)
    if not items:
        say("nothing is registered yet: `work MODULE:APP` registers what its app declares")
    return Exit.OK


@definitions.command
async def coverage(*, db: Db, output: Output = "text") -> int:
    """Which definitions have unfinished jobs, and which live workers declare them. Exit 5 if one is not covered.

    ```
    definitions coverage --db app.db
    ```

    Zero unfinished is not by itself leave to delete old handlers: replays and questions about old jobs may come.
    """
    from runtime.store.explain import coverage as covers_of

    async with opened(db) as store:
        found = await covers_of(store)
    covers = [cover for cover in found if cover.unfinished or cover.workers or cover.revision is not None]

    def render() -> Any:
        made = table("DEFINITION", "WORKFLOW", "UNFINISHED", "COVERED", "WORKERS", right=("UNFINISHED",))
        for cover in covers:
            covered = "NO" if cover.stranded else "yes" if cover.workers else "nothing to do"
            add(made, short(cover.digest), cover.workflow, cover.unfinished, covered, ", ".join(cover.workers) or None)
        return made

    rows(covers, output, render)
    stranded = [cover for cover in covers if cover.stranded]
    for cover in stranded:
        say(
            f"{short(cover.digest)} ({cover.workflow}): {cover.unfinished} unfinished and no live worker declares it; "
            f"start one (`work MODULE:APP`) or migrate jobs still at step 0"
        )
    return Exit.REFUSED if stranded else Exit.OK


@definitions.command
async def migrate(
    *jobs: Jobs,
    to: Digest,
    db: Db,
    all_of: Annotated[str | None, Parameter(help="Every job bound to this definition that is still at step 0.")] = None,
    if_binding: Annotated[
        int | None, Observed, Parameter(help="Only if the job is still at this binding revision.")
    ] = None,
    effects_checked: EffectsChecked = False,
    limit: AtMost = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Bind jobs to another definition of their workflow. Only jobs that are ready and have no step committed.

    ```
    definitions migrate job-7 --to 3f9a41 --reason "price fix" --db app.db
    definitions migrate --all-of 77aa01 --to 3f9a41 --dry-run --db app.db
    ```

    Exit 0 migrated, 4 it moved on meanwhile, 5 in flight, past step 0, or unknown.
    """
    what = _what("migrate", reason, actor, command_id, to, effects_checked, dry_run)
    everything = all_of is not None
    return await operate(db, what, jobs, everything, if_binding, limit, None, all_of, dry_run, output)


def _entry(cover: "Coverage", steps: Any) -> dict[str, Any]:
    return {
        "digest": cover.digest,
        "workflow": cover.workflow,
        "steps": [step.name for step in steps],
        "revision": cover.revision,
        "unfinished": cover.unfinished,
        "done": cover.done,
        "workers": list(cover.workers),
    }


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise Stop(f"{file}: cannot be read as UTF-8 text ({error})") from None

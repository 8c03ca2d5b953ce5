"""redrive, recover, quarantine: what a person does to jobs, one by one or all that fit."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from runtime.cli.exits import VERDICTS, Exit, Stop
from runtime.cli.options import Actor, CommandId, Db, Observed, Output, Reason, Some, actor_name
from runtime.cli.output import add, rows, say, table
from runtime.cli.session import opened
from runtime.protocol.verdicts import Verdict

if TYPE_CHECKING:
    from control.operate import Act, Done
    from runtime.store.store import Store

Jobs = Annotated[str, Parameter(help="The jobs' identities.")]
IfGeneration = Annotated[
    int | None,
    Observed,
    Parameter(name="--if-generation", help="Only if the job is still at this generation; else stale."),
]
All = Annotated[bool, Parameter(name="--all", negative=(), help="Every job that this is for, instead of named ones.")]
AtMost = Annotated[int | None, Some, Parameter(name="--limit", help="With --all: at most so many.")]
OfFlow = Annotated[str | None, Parameter(name="--flow", help="With --all: only jobs of this flow.")]
OfDefinition = Annotated[str | None, Parameter(name="--definition", help="With --all: only jobs bound to this digest.")]
DryRun = Annotated[bool, Parameter(name="--dry-run", negative=(), help="Say what would be done; write nothing.")]
To = Annotated[str | None, Parameter(name="--to", help="Move the job to this definition too; at step 0 only.")]
EffectsChecked = Annotated[
    bool, Parameter(name="--effects-checked", negative=(), help="You have looked: the first step did nothing outside.")
]


async def redrive(
    *jobs: Jobs,
    db: Db,
    reason: Reason = None,
    if_generation: IfGeneration = None,
    all_: All = False,
    limit: AtMost = None,
    flow: OfFlow = None,
    definition: OfDefinition = None,
    to: To = None,
    effects_checked: EffectsChecked = False,
    dry_run: DryRun = False,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Send quarantined jobs back to work: ready now, with their attempts renewed, payload and place untouched.

    A step that is not safe to repeat needs a look at what it did outside first; a redrive does not approve it.

    ```
    redrive job-7 --reason "bank is back" --db app.db
    redrive --all --limit 100 --dry-run --db app.db
    ```

    Exit 0 redriven, 4 it moved on meanwhile, 5 it is not quarantined or unknown.
    """
    what = _what("redrive", reason, actor, command_id, to, effects_checked, dry_run)
    return await operate(db, what, jobs, all_, if_generation, limit, flow, definition, dry_run, output)


async def recover(
    *jobs: Jobs,
    db: Db,
    reason: Reason = None,
    if_generation: IfGeneration = None,
    all_: All = False,
    limit: AtMost = None,
    flow: OfFlow = None,
    definition: OfDefinition = None,
    live: Annotated[
        bool, Parameter(negative=(), help="Also where the lease is live: the worker may still be at it.")
    ] = False,
    to: To = None,
    effects_checked: EffectsChecked = False,
    dry_run: DryRun = False,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Take jobs in flight away from a worker that will not answer: ready now, whatever it answers later is stale.

    The step may have happened outside: look before you recover one that is not safe to repeat.

    ```
    recover job-7 --reason "host gone, checked the bank" --db app.db
    recover --all --live --reason "dead service" --db app.db
    ```

    Exit 0 recovered, 4 it moved on meanwhile, 5 it is not in flight, its lease is live (see --live), or unknown.
    """
    what = _what("recover", reason, actor, command_id, to, effects_checked, dry_run, live)
    return await operate(db, what, jobs, all_, if_generation, limit, flow, definition, dry_run, output)


async def quarantine(
    *jobs: Jobs,
    db: Db,
    reason: Reason = None,
    if_generation: IfGeneration = None,
    all_: All = False,
    limit: AtMost = None,
    flow: OfFlow = None,
    definition: OfDefinition = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Take jobs out of rotation until a person redrives them. They stay promises: a drain waits for them.

    ```
    quarantine job-7 --reason "customer called" --db app.db
    ```

    Exit 0 quarantined, 4 it moved on meanwhile, 5 it is done, quarantined already or unknown.
    """
    what = _what("quarantine", reason, actor, command_id, None, False, dry_run)
    if all_ and flow is None and definition is None:
        raise Stop("quarantine --all needs --flow or --definition: all jobs of a store are hardly meant")
    return await operate(db, what, jobs, all_, if_generation, limit, flow, definition, dry_run, output)


def _what(
    verb: str,
    reason: str | None,
    actor: str | None,
    command_id: str | None,
    to: str | None,
    effects_checked: bool,
    dry_run: bool,
    live: bool = False,
) -> "Act":
    from control.operate import Act

    if not dry_run and not (reason or "").strip():
        raise Stop(f"--reason is expected: {verb} leaves an audit row that says why")
    return Act(verb, reason or "", actor_name(actor), to, effects_checked, live, command_id)


async def operate(
    db: Path,
    what: "Act",
    jobs: Sequence[str],
    everything: bool,
    expected: int | None,
    limit: int | None,
    flow: str | None,
    definition: str | None,
    dry_run: bool,
    output: str,
) -> int:
    """Choose the jobs, act or foresee, print; the exit code is the highest among them."""
    from msgspec.structs import replace

    from control.find import digest_of

    _check(what.verb, jobs, everything, expected, (limit, flow, definition))
    async with opened(db) as store:
        to = await digest_of(store, what.to) if what.to is not None else None
        of = await digest_of(store, definition) if definition is not None else None
        what = replace(what, to=to, each=everything or len(jobs) > 1)
        done = await _perform(store, what, jobs, everything, expected, limit, flow, of, dry_run)
    _print(what.verb, done, dry_run, output)
    return max((_code(item) for item in done), default=Exit.OK)


def _check(verb: str, jobs: Sequence[str], everything: bool, expected: int | None, filters: tuple[object, ...]) -> None:
    if bool(jobs) == everything:
        raise Stop(f"{verb}: name the jobs, or say --all for every one that fits (--dry-run shows which)")
    if expected is not None and len(jobs) != 1:
        raise Stop("an expected generation or binding goes with exactly one job; --all uses what it finds")
    if not everything and any(value is not None for value in filters):
        raise Stop("--limit, --flow and --definition go with --all")


async def _perform(
    store: "Store",
    what: "Act",
    jobs: Sequence[str],
    everything: bool,
    expected: int | None,
    limit: int | None,
    flow: str | None,
    digest: str | None,
    dry_run: bool,
) -> "list[Done]":
    from control.find import clock_of
    from control.operate import act, foresee, matching, named

    async def go(targets: Sequence[Any]) -> "list[Done]":
        clock = await clock_of(store)
        return [foresee(what, item, clock) for item in targets] if dry_run else await act(store, what, targets, clock)

    if not everything:
        return await go(await named(store, what.verb, jobs, expected))
    done = []
    async for page in matching(store, what.verb, flow=flow, digest=digest, limit=limit):
        done += await go(page)
    return done


def _print(verb: str, done: "Sequence[Done]", dry_run: bool, output: str) -> None:
    def render() -> Any:
        made = table("JOB", "ANSWER", "SEEN AT", "CAUSE", right=("SEEN AT",))
        for item in done:
            answer = item.verdict or "error"
            add(made, item.job, f"would be {answer}" if item.dry else answer, item.expected, item.error or item.cause)
        return made

    rows(done, output, render)
    counts: dict[str, int] = {}
    for item in done:
        word = item.verdict or "error"
        counts[word] = counts.get(word, 0) + 1
    summary = ", ".join(f"{count} {word}" for word, count in counts.items()) or f"no job that {verb} is for"
    say(f"dry run, nothing was written: {summary}" if dry_run else summary)
    if verb == "migrate" and any("is quarantined" in (item.cause or "") for item in done):
        say("`redrive JOB --to DIGEST --reason …` sends a quarantined job back and moves it, in one act")


def _code(item: "Done") -> int:
    if item.verdict is None:
        return Exit.USAGE
    return VERDICTS.get(Verdict(item.verdict), Exit.OK)

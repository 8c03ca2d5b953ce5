"""drain, pause, resume: the barrier."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from runtime.cli.answers import data, hint, line
from runtime.cli.exits import Exit, Stop, code_of
from runtime.cli.options import Actor, CommandId, Db, Duration, Observed, Output, Reason, actor_name
from runtime.cli.output import document, one_line, say
from runtime.cli.session import opened
from runtime.cli.waiting import interrupted, watched

if TYPE_CHECKING:
    from control.barrier import Drained

IfVersion = Annotated[
    int | None,
    Observed,
    Parameter(
        name="--if-version", help="Only if the control version is still this; without it the present one is used."
    ),
]
NAMED = 10


async def drain(
    *,
    db: Db,
    wait: Annotated[bool, Parameter(negative=(), help="Stay until it is paused; shows what is left and why.")] = False,
    timeout: Annotated[
        Duration | None, Parameter(help="With --wait: give up after this (30s, 15m), still draining.")
    ] = None,
    pause: Annotated[
        bool, Parameter(help="Pause by itself when nothing is unfinished; --no-pause leaves that to you.")
    ] = True,
    if_version: IfVersion = None,
    reason: Reason = None,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Close admission, finish everything accepted, then pause; nothing is cancelled or deleted.

    New jobs are answered `closed` from now on. Workers go on until every accepted job is done: they must run, and
    whatever is quarantined or held needs a person (`why drain` names it). Then the store is paused until `resume`.

    ```
    drain --db app.db                        a live pool pauses when all is done
    drain --wait --timeout 15m --db app.db   stay until it is paused
    ```

    Exit 0 paused, or draining without --wait; 3 not drained by the deadline (still draining); 4 the version has moved
    on, or somebody resumed meanwhile.
    """
    from control.barrier import drain as drained

    if timeout is not None and not wait:
        raise Stop("--timeout goes with --wait: without it the command does not stay")
    async with opened(db) as store:
        if wait and if_version is None and (await store.control()).mode == "draining":
            say("joins the drain already under way")
        await _show_version(store, if_version)
        async with watched(store) as shown, interrupted():
            ended = await drained(
                store,
                wait=wait,
                deadline_s=None if timeout is None else timeout / 1000,
                pause=pause,
                expected_version=if_version,
                reason=reason,
                actor=actor_name(actor),
                command_id=command_id,
                on_progress=shown,
            )
        code = ended.code
        document({**data(ended.answer), "text": ended.text, "exit": code}, output, lambda: ended.text)
        if code == Exit.BUSY or (not wait and ended.answer.verdict == "draining"):
            await blockers(store)
    _advise(ended, wait)
    return code


async def pause(
    *,
    db: Db,
    if_version: IfVersion = None,
    reason: Reason = None,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """End a drain: pause, if every accepted job is done. It is `busy` (exit 3) while one is not.

    ```
    pause --db app.db
    ```
    """
    return await _transition("pause", db, if_version, reason, actor, command_id, output)


async def resume(
    *,
    db: Db,
    if_version: IfVersion = None,
    reason: Reason = None,
    actor: Actor = None,
    command_id: CommandId = None,
    output: Output = "text",
) -> int:
    """Open admission again, from draining or paused. Live pools notice within a second.

    ```
    resume --db app.db
    ```
    """
    return await _transition("resume", db, if_version, reason, actor, command_id, output)


async def _transition(
    action: str,
    db: Path,
    if_version: int | None,
    reason: str | None,
    actor: str | None,
    command_id: str | None,
    output: str,
) -> int:
    async with opened(db) as store:
        version = await _show_version(store, if_version)
        answer = await store.transition(action, version, reason=reason, actor=actor_name(actor), command_id=command_id)
        document(data(answer), output, lambda: line(answer))
        if answer.verdict == "busy":
            await blockers(store)
    if advice := hint(answer):
        say(advice)
    return code_of(answer)


async def _show_version(store: Any, given: int | None) -> int:
    """The version to act on: as given, or the present one, which is shown."""
    if given is not None:
        return given
    control = await store.control()
    say(f"{control.mode} at version {control.version}")
    return int(control.version)


async def blockers(store: Any) -> None:
    """What is unfinished, by cause and by name, as messages."""
    from control.explain import why_drain

    why = await why_drain(store, limit=NAMED)
    for cause in why.causes:
        say(f"  {cause.jobs} {cause.cause}: {cause.text}")
    for item in why.jobs[:NAMED]:
        say(f"  {item.job.job}: {one_line(item.text)}")
    if why.unfinished > NAMED:
        say(f"  … `why drain` names more of the {why.unfinished}")


def _advise(ended: "Drained", wait: bool) -> None:
    if ended.code == Exit.BUSY:
        say("still draining; run `drain --wait` again to go on waiting, or `resume` to open admission")
    elif ended.code == Exit.STALE:
        say("look again (`status`) and decide anew")
    elif not wait and ended.answer.verdict == "draining":
        say("a live pool pauses by itself once all is done; `drain --wait` shows it")

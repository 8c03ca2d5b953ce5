"""work: run an app's jobs until told to stop, in this process or in several."""

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import anyio
from cyclopts import Parameter
from cyclopts.validators import Number

from runtime.cli.exits import Exit, Stop
from runtime.cli.logs import LogFormat, log_to_stderr
from runtime.cli.options import Db, Duration
from runtime.cli.session import load_app
from runtime.loop import run as run_loop
from runtime.protocol.records import Record

if TYPE_CHECKING:
    from runtime.stopping import Stop as Stopping
    from runtime.store.store import Store

log = logging.getLogger("keepstep.work")
AtLeastOne = Parameter(validator=Number(gte=1))


class Options(Record, frozen=True):
    """What `work` was asked for; times in milliseconds."""

    target: str
    db: Path
    concurrency: int
    grace_ms: int
    hard_limit_ms: int
    poll_ms: int
    until_idle: bool
    drain: bool
    timeout_ms: int | None
    max_jobs: int | None
    durability: str


def work(
    target: Annotated[str, Parameter(help="MODULE:APP, for example myapp:app.")],
    /,
    *,
    db: Db,
    concurrency: Annotated[int, AtLeastOne, Parameter(help="Places per process: attempts at the same time.")] = 32,
    processes: Annotated[int, AtLeastOne, Parameter(help="Worker processes; 1 runs in place.")] = 1,
    grace: Annotated[Duration, Parameter(help="How long steps may finish after a stop.")] = 30_000,
    hard_limit: Annotated[Duration, Parameter(help="After the grace: when the process ends in any case.")] = 10_000,
    poll: Annotated[Duration, Parameter(help="How often to look whether another process wrote.")] = 20,
    until_idle: Annotated[bool, Parameter(negative="", help="End when nothing can be claimed.")] = False,
    drain: Annotated[bool, Parameter(negative="", help="Drain the store to paused, then end.")] = False,
    timeout: Annotated[Duration | None, Parameter(help="With --drain or --until-idle: give up after.")] = None,
    max_jobs: Annotated[int | None, AtLeastOne, Parameter(help="End after so many jobs.")] = None,
    log_format: Annotated[LogFormat, Parameter(help="How log lines are written.")] = "text",
    durability: Annotated[
        Literal["full", "normal"], Parameter(help="normal: a power loss may take the last commits.")
    ] = "full",
) -> int:
    """Run an app's jobs: workers in one or several processes.

    TERM or the first INT stops in good order: no more claims, steps finish within the grace, the rest is handed back.
    A second signal cancels at once.

    ```
    python -m runtime work myapp:app --db app.db --processes 4 --concurrency 32
    ```

    Exit 0 stopped as asked, 2 wrong settings, 3 not drained by --timeout, 4 resumed meanwhile, 69 store unavailable,
    130 a second signal, 143 the hard limit.
    """
    log_to_stderr(log_format)
    options = Options(
        target, db, concurrency, grace, hard_limit, poll, until_idle, drain, timeout, max_jobs, durability
    )
    _check(options, processes)
    if processes > 1:
        from workers.pool import supervise

        load_app(target)
        supervised = partial(
            supervise,
            _child_arguments(options, log_format),
            processes,
            limit_s=(grace + hard_limit) / 1000 + 5,
            ends_by_itself=until_idle or drain,
        )
        return run_loop(supervised)
    return run_loop(_work, options)


def _check(options: Options, processes: int) -> None:
    if options.poll_ms < 1 or options.poll_ms > 1000:
        raise Stop(f"--poll: 1ms to 1s is expected, got {options.poll_ms}ms")
    if options.timeout_ms is not None and not (options.drain or options.until_idle):
        raise Stop("--timeout goes with --drain or --until-idle: without them `work` runs until it is stopped")
    if options.max_jobs is not None and processes > 1:
        raise Stop("--max-jobs counts in one process: leave out --processes")


def _child_arguments(options: Options, log_format: str) -> list[str]:
    given = [
        options.target,
        *("--db", str(options.db)),
        *("--concurrency", str(options.concurrency)),
        *("--grace", f"{options.grace_ms}ms"),
        *("--hard-limit", f"{options.hard_limit_ms}ms"),
        *("--poll", f"{options.poll_ms}ms"),
        *("--log-format", log_format),
        *("--durability", options.durability),
    ]
    given += [flag for flag, on in (("--until-idle", options.until_idle), ("--drain", options.drain)) if on]
    if options.timeout_ms is not None:
        given += ["--timeout", f"{options.timeout_ms}ms"]
    return [sys.executable, "-m", "runtime", "work", *given, "--processes", "1"]


async def _work(options: Options) -> int:
    from runtime.embed import run
    from runtime.stopping import Stop as Stopping
    from workers.pool import stop_with_supervisor

    stop = Stopping(options.grace_ms / 1000, options.hard_limit_ms / 1000)
    stop_with_supervisor(stop)
    app = load_app(options.target)
    if not app.manifests:
        raise Stop(f"app {app.name!r} declares no manifest: say what runs with app.manifest([(name, handler)])")
    codes: list[int] = []

    def ready(worker: str) -> None:
        print(f"ready worker={worker} db={options.db} concurrency={options.concurrency}", flush=True)

    async with _opened(options) as store, anyio.create_task_group() as group:
        group.start_soon(_deadline, options, stop, codes)
        if options.drain:
            group.start_soon(_drain, store, options, stop, codes)
        await run(
            app,
            store,
            concurrency=options.concurrency,
            until_idle=options.until_idle,
            max_jobs=options.max_jobs,
            poll_ms=options.poll_ms,
            stop=stop,
            owns_process=True,
            target=options.target,
            durability=options.durability,
            on_ready=ready,
        )
        group.cancel_scope.cancel()
    if stop.at_once:
        return Exit.INTERRUPTED
    return max(codes, default=Exit.OK)


@asynccontextmanager
async def _opened(options: Options) -> "AsyncIterator[Store]":
    from runtime.embed import connect

    async with connect(options.db, durability=options.durability) as store:
        yield store


async def _deadline(options: Options, stop: "Stopping", codes: list[int]) -> None:
    """Ends a pool that is not idle in time; a drain has its own deadline."""
    if options.timeout_ms is not None and not options.drain:
        await anyio.sleep(options.timeout_ms / 1000)
        codes.append(Exit.BUSY)
        stop.ask("--timeout: not idle by the deadline")


async def _drain(store: "Store", options: Options, stop: "Stopping", codes: list[int]) -> None:
    """Run the barrier to paused, then end the pool."""
    from control.barrier import drain

    deadline_s = None if options.timeout_ms is None else options.timeout_ms / 1000
    drained = await drain(store, wait=True, deadline_s=deadline_s, reason="work --drain", actor="work --drain")
    log.info("%s", drained.text)
    if drained.code == Exit.BUSY:
        from runtime.cli.barrier import blockers

        await blockers(store)
    codes.append(drained.code)
    stop.ask(drained.text)

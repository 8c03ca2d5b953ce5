"""The root command. Every command is an import string, so that `--help` starts without loading any of them."""

import difflib
import errno
import io
import os
import sys
from collections.abc import Sequence

from cyclopts import App, Group
from cyclopts.config import Env
from cyclopts.exceptions import CycloptsError, MissingArgumentError, UnknownCommandError

from runtime.cli.exits import Exit, code_of, foreseeable, line_of, nobody_reads

HELP = """keepstep: jobs that are kept, step by step, in one SQLite file.

A first round, from nothing:

```
python -m runtime new myapp && cd myapp        write a starting app
python -m runtime work myapp:app --db app.db   run it, here or under systemd
python -m runtime admit myapp job-1 --payload '{"n": 1}' --db app.db
python -m runtime status --db app.db           where everything is
python -m runtime why job job-1 --db app.db    what a job waits for
python -m runtime drain --wait --db app.db     finish everything, then pause
```

Every flag has an environment twin: `RUNTIME_DB=app.db` stands for `--db app.db`.
"""

RUN, LOOK, OPERATE, TRY, ABOUT = (
    Group(name, sort_key=place) for place, name in enumerate(("Running", "Looking", "Operating", "Trying", "Help"))
)

COMMANDS = (
    (RUN, "work", "runtime.cli.work:work", "Run an app's jobs: workers in one or several processes."),
    (RUN, "admit", "runtime.cli.admit:admit", "Hand over a job, or many; the answer means that it is kept."),
    (RUN, "new", "runtime.cli.new:new", "Write a starting app, a test and a systemd unit into a folder."),
    (RUN, "db", "runtime.cli.db:db", "Make a database file."),
    (LOOK, "status", "runtime.cli.status:status", "Where everything is, once or live (--watch)."),
    (LOOK, "jobs", "runtime.cli.jobs:jobs", "List jobs; show one job's whole life."),
    (LOOK, "why", "runtime.cli.why:why", "Why a job, a flow, a drain or a definition is not further."),
    (LOOK, "doctor", "runtime.cli.doctor:doctor", "Check the file, the clock and the settings."),
    (OPERATE, "drain", "runtime.cli.barrier:drain", "Close admission, finish everything accepted, then pause."),
    (OPERATE, "pause", "runtime.cli.barrier:pause", "End a drain once nothing is unfinished."),
    (OPERATE, "resume", "runtime.cli.barrier:resume", "Open admission again."),
    (OPERATE, "redrive", "runtime.cli.operate:redrive", "Send quarantined jobs back to work."),
    (OPERATE, "recover", "runtime.cli.operate:recover", "Take jobs away from a worker that will not answer."),
    (OPERATE, "quarantine", "runtime.cli.operate:quarantine", "Take jobs out of rotation until a person acts."),
    (OPERATE, "definitions", "runtime.cli.definitions:definitions", "Register, switch, list, migrate; coverage."),
    (OPERATE, "flows", "runtime.cli.flows:flows", "List flows; make one ordered or free."),
    (OPERATE, "limits", "runtime.cli.limits:limits", "Show and set capacity and how newcomers join."),
    (TRY, "demo", "runtime.cli.demo:demo", "Things to see: the library, the drain, crashes, fairness."),
    (TRY, "bench", "runtime.cli.bench:bench", "Measure on this machine."),
)


def build(chosen: str | None = None) -> App:
    """The root App with every command registered by name; the `chosen` one shows its own, longer help."""
    app = App(
        name="python -m runtime",
        help=HELP,
        help_format="markdown",
        config=Env("RUNTIME_", command=False),
        version=_version,
        suppress_keyboard_interrupt=False,
    )
    for flag in ("--help", "--version"):
        app[flag].group = ABOUT
    for group, name, target, text in COMMANDS:
        if name == chosen:
            app.command(target, name=name, group=group)
        else:
            app.command(target, name=name, help=text, group=group)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code. A foreseeable fault is one line on stderr, never a traceback."""
    _prepare_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if broken := [word for word in given if not _is_text(word)]:
        _say(f"{broken[0]!r} is not UTF-8 text: no argument may be anything else")
        return Exit.USAGE
    try:
        result = build(next((word for word in given if not word.startswith("-")), None))(
            given,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        sys.stdout.flush()
    except CycloptsError as error:
        _say(_usage(error))
        return Exit.USAGE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except (Exception, BaseExceptionGroup) as error:
        if _is_unprinted(error):
            # what is still buffered would fail once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not nobody_reads(error):
                _say(f"what was to be printed could not be written ({error}): give stdout another place")
            return Exit.FAULT
        cause = foreseeable(error)
        if cause is None:
            raise
        _say(line_of(cause))
        return code_of(cause)
    return int(result) if isinstance(result, int) else Exit.OK


def _prepare_streams() -> None:
    """What cannot be encoded is escaped; a stream that was closed before the start takes what it is given."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  for as long as it runs
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _is_unprinted(error: BaseException) -> bool:
    """Whether it was stdout that failed: one that is full takes no further character either."""
    if nobody_reads(error):
        return True
    if not isinstance(error, OSError) or error.errno != errno.ENOSPC:
        return False
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except OSError:
        return True
    return False


def _is_text(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _usage(error: CycloptsError) -> str:
    """What is wrong with a command line, in one line."""
    if isinstance(error, UnknownCommandError) and error.unused_tokens and not error.command_chain:
        word = error.unused_tokens[0]
        near = difflib.get_close_matches(word, [name for _, name, _, _ in COMMANDS], 1)
        return f"there is no command {word!r}{f': did you mean {near[0]!r}?' if near else ''} (--help lists them)"
    if isinstance(error, MissingArgumentError) and error.argument is not None and not error.argument.tokens:
        name = error.argument.name
        twin = f"RUNTIME_{name.lstrip('-').upper().replace('-', '_')}"
        return (
            f"{' '.join(error.command_chain or ())}: {name} is expected, or {twin} in the environment (--help explains)"
        )
    return f"{' '.join(str(error).split())} (--help shows what is taken)"


def _say(line: str) -> None:
    print(f"error: {line}", file=sys.stderr)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("keepstep")
    except PackageNotFoundError:
        return "unknown: run from its source, not installed"

"""Any words after any command: an exit code of the table, never a traceback."""

import random

import pytest

from runtime.cli.exits import Exit
from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.runtime.cli import V1, V2, W1, Cli

VALUES = (
    *("x", "", "0", "1", "-1", "99999999999999999999", "1ms", "none", "json", "text", "waiting", "first", "/dev/null"),
    *("j1", "j2", "nobody", "F", "points", V1.digest[:8], V2.digest, "f" * 64, "zz", "/nope", "a" * 300),
    *("\ud800", "\x00", "\x1b[31m", "é", '{"a":1}', "NaN", "[" * 200),
)
ACTING = ("--reason", "--as", "--command-id", "-o")
MANY = (*ACTING, "--if-generation", "--all!", "--limit", "--flow", "--definition", "--dry-run!")
COMMANDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("admit",): ("--payload", "--flow", "--width", "--jsonl", "-o"),
    ("status",): ("--flows", "-o"),
    ("jobs", "list"): ("--state", "--flow", "--definition", "--after", "--limit", "-o"),
    ("jobs", "show"): ("-o",),
    ("why", "job"): ("-o",),
    ("why", "flow"): ("--limit", "-o"),
    ("why", "drain"): ("--limit", "-o"),
    ("why", "definition"): ("--limit", "-o"),
    ("drain",): (*ACTING, "--no-pause!", "--if-version", "--timeout"),
    ("pause",): (*ACTING, "--if-version"),
    ("resume",): (*ACTING, "--if-version"),
    ("definitions", "register"): ("-o",),
    ("definitions", "switch"): (*ACTING, "--if-revision", "--require-coverage!"),
    ("definitions", "migrate"): (*ACTING, "--to", "--all-of", "--if-binding", "--effects-checked!", "--dry-run!"),
    ("flows", "list"): ("--limit", "-o"),
    ("flows", "set"): (*ACTING, "--width", "--ordered!"),
    ("limits", "set"): (*ACTING, "--capacity", "--flow-capacity", "--newcomers"),
    ("redrive",): (*MANY, "--to"),
    ("recover",): (*MANY, "--live!", "--to"),
    ("quarantine",): MANY,
    ("doctor",): ("--grace", "-o"),
    ("db", "init"): ("--clock",),
}


def line(chance: random.Random) -> list[str]:
    """A command line that is nearly right."""
    command, options = chance.choice(list(COMMANDS.items()))
    words = [*command, *(chance.choice(VALUES) for _ in range(chance.choice((0, 1, 1, 2))))]
    for option in chance.sample(options, chance.randrange(min(4, len(options)) + 1)):
        if option.endswith("!"):
            words.append(option[:-1])
        else:
            words += [option, chance.choice(("json", "text", "jsonl") if option == "-o" else VALUES)]
    return words


@pytest.mark.parametrize("seed", range(6))
def test_no_command_line_ends_in_a_traceback(cli: Cli, seed: int) -> None:
    async def fill(store: Store) -> None:
        await store.admit_many([Admission("points", f"j{number}", 1, "F") for number in range(4)])
        await store.claim(1, W1)

    cli.store(fill)
    chance = random.Random(seed)
    allowed = set(Exit) - {Exit.INTERRUPTED, Exit.KILLED}
    for _ in range(50):
        words = line(chance)
        assert cli(*words).code in allowed, words

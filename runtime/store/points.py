"""Named points at which a process can be made to end, to show what a crash there leaves.

A point is `<verb>.begin`, `<verb>.<statement>` after each named statement, `<verb>.before_commit`,
`<verb>.after_commit`.
`KEEPSTEP_CRASH_AT=commit_step.before_commit` (`…:3` for the third time) arms one; nothing else ever does.
"""

import os
from collections.abc import Callable

from runtime.store import statements

VARIABLE = "KEEPSTEP_CRASH_AT"
EXIT_CODE = 73


def _nothing(name: str) -> None:
    return


def _armed(setting: str) -> Callable[[str], None]:
    wanted, _, count = setting.partition(":")
    left = [int(count or 1)]

    def reach(name: str) -> None:
        if name == wanted:
            left[0] -= 1
            if left[0] == 0:
                os._exit(EXIT_CODE)

    return reach


reach: Callable[[str], None] = _armed(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else _nothing


def names() -> list[str]:
    """Every point of every verb, in the order of the files' statements."""
    found: list[str] = []
    for verb, known in statements.by_verb().items():
        found.append(f"{verb}.begin")
        found.extend(f"{verb}.{name}" for name in known)
        found.extend((f"{verb}.before_commit", f"{verb}.after_commit"))
    return found

"""doctor: check the file, the counters, the clock, who lives, and settings that cannot work together."""

from typing import Annotated, Any

from cyclopts import Parameter

from runtime.cli.exits import Exit
from runtime.cli.options import Db, Duration, Output
from runtime.cli.output import add, rows, say, table
from runtime.cli.session import opened


async def doctor(
    *,
    db: Db,
    grace: Annotated[Duration, Parameter(help="The --grace that `work` is started with.")] = 30_000,
    output: Output = "text",
) -> int:
    """Check the file, its counters against a recount, the clock, who lives, and settings that cannot work together.

    It reads everything and changes nothing. Exit 1 when it finds a fault, 69 when the file cannot be opened.

    ```
    doctor --db app.db
    ```
    """
    from control.doctor import look_over

    async with opened(db) as store:
        findings = await look_over(store, grace_ms=grace)

    def render() -> Any:
        made = table("CHECK", "LEVEL", "FOUND", "NEXT")
        for finding in findings:
            add(made, finding.check, finding.level, finding.text, finding.next)
        return made

    rows(findings, output, render)
    faults = sum(finding.level == "fault" for finding in findings)
    say(f"{faults} fault{'' if faults == 1 else 's'}" if faults else "no fault found")
    return Exit.FAULT if faults else Exit.OK

"""The status page as text: for one look and for the live view."""

from typing import TYPE_CHECKING, Any

from control.life import changes
from control.snapshot import Rates, lapsed, unfinished
from control.times import Clock
from runtime.cli.output import COLOURS, add, one_line, printable, short, table

if TYPE_CHECKING:
    from runtime.store.picture import Picture

MOST_ROWS = 8
MOST_ACTS = 3


def page(picture: "Picture", name: str, moved: Rates | None = None) -> Any:
    """Everything on one page; lists are cut at a few rows and say how many there are."""
    from rich.console import Group
    from rich.text import Text

    clock = Clock(picture.clock, picture.snapshot.taken_at)
    parts = [_head(picture, name, clock), _states(picture, moved)]
    for title, part in (
        ("definitions", _definitions(picture)),
        ("flows", _flows(picture)),
        ("in flight", _flights(picture, clock)),
        ("quarantined", _parked(picture, clock)),
        ("workers", _workers(picture, clock)),
        ("latest acts", _acts(picture, clock)),
    ):
        if part is not None:
            parts += [Text(""), Text(title, style="bold underline"), part]
    return Group(*parts)


def _head(picture: "Picture", name: str, clock: Clock) -> Any:
    from rich.text import Text

    shot = picture.snapshot
    head = Text(printable(name), style="bold")
    head.append("  ")
    head.append(str(shot.mode), style=COLOURS.get(str(shot.mode), ""))
    wish = ", pauses when empty" if shot.pause_when_empty and shot.mode == "draining" else ""
    size = f"{shot.file_bytes / 1_048_576:.1f} MiB"
    full = picture.capacity is not None and unfinished(picture) >= picture.capacity
    limit = f", capacity {picture.capacity} is reached" if full else ""
    head.append(f" (version {shot.version}{wish})  {unfinished(picture)} unfinished{limit}")
    head.append(f"  {size}  taken {clock.at(shot.taken_at)}")
    return head


def _states(picture: "Picture", moved: Rates | None) -> Any:
    from rich.text import Text

    line = Text("")
    for state, count in picture.snapshot.jobs.items():
        line.append(f"{state} ", style=COLOURS.get(state, ""))
        line.append(f"{count}   ", style="bold")
    line.append(f"effects {picture.snapshot.effects}   released {picture.snapshot.releases}")
    if moved is not None:
        line.append(f"\n{moved.steps:.0f} steps/s   {moved.done:.0f} done/s   {moved.accepted:.0f} accepted/s")
    return line


def _definitions(picture: "Picture") -> Any:
    found = [cover for cover in picture.coverage if cover.unfinished or cover.workers or cover.revision is not None]
    if not found:
        return None
    made = table("DEFINITION", "WORKFLOW", "UNFINISHED", "DONE", "ROUTE", "WORKERS", right=("UNFINISHED", "DONE"))
    for cover in found[:MOST_ROWS]:
        workers = str(len(cover.workers)) if cover.workers else "none live" if cover.unfinished else "-"
        route = f"revision {cover.revision}" if cover.revision is not None else None
        add(made, short(cover.digest), cover.workflow, cover.unfinished, cover.done, route, workers)
    return _more(made, len(found))


def _flows(picture: "Picture") -> Any:
    found = [flow for flow in picture.snapshot.flows if flow.unfinished]
    if not found:
        return None
    made = table("FLOW", "KIND", "UNFINISHED", "TAKEN", right=("UNFINISHED", "TAKEN"))
    for flow in found[:MOST_ROWS]:
        add(made, flow.name, "ordered" if flow.width is None else f"free, {flow.width}", flow.unfinished, flow.taken)
    return _more(made, len(found))


def _flights(picture: "Picture", clock: Clock) -> Any:
    if not picture.inflight:
        return None
    made = table("JOB", "STEP", "WORKER", "SINCE", "LEASE")
    for flight in picture.inflight[:MOST_ROWS]:
        lease = f"ends {clock.ago(flight.lease_until)}"
        if lapsed(flight, clock):
            lease = f"lease lapsed {clock.ago(flight.lease_until)}" + (", held" if flight.hold else "")
        gone = "" if flight.worker_alive else " (gone)"
        add(made, flight.job, flight.step, f"{flight.worker}{gone}", clock.ago(flight.since), lease)
    return _more(made, picture.snapshot.jobs["inflight"])


def _parked(picture: "Picture", clock: Clock) -> Any:
    if not picture.quarantined:
        return None
    made = table("JOB", "FLOW", "SINCE", "BECAUSE")
    for job in picture.quarantined[:MOST_ROWS]:
        add(made, job.job, job.flow, clock.ago(job.since), one_line(job.reason, 100))
    return _more(made, picture.snapshot.jobs["quarantined"])


def _workers(picture: "Picture", clock: Clock) -> Any:
    workers = picture.snapshot.workers
    if not workers:
        return None
    made = table("WORKER", "WHERE", "LIVES", "SINCE", "DECLARES")
    wall = Clock("wall", max((worker.seen_at_ms for worker in workers), default=0))
    if picture.clock == "wall":
        wall = clock
    for worker in workers[:MOST_ROWS]:
        lives = "yes" if worker.live else f"gone, heard of {wall.ago(worker.seen_at_ms)}"
        declares = ", ".join(short(digest) for digest in worker.digests) or None
        add(made, worker.worker, f"{worker.host}, pid {worker.pid}", lives, wall.at(worker.started_at_ms), declares)
    return _more(made, len(workers))


def _acts(picture: "Picture", clock: Clock) -> Any:
    if not picture.acts:
        return None
    made = table("WHEN", "WHO", "WHAT", "WHY")
    for act in picture.acts[:MOST_ACTS]:
        add(made, clock.ago(act.at), act.actor, f"{act.verb} {act.subject}{changes(act)}", one_line(act.reason, 60))
    return made


def _more(made: Any, total: int) -> Any:
    from rich.console import Group
    from rich.text import Text

    return made if total <= made.row_count else Group(made, Text(f"… {total - made.row_count} more", style="dim"))

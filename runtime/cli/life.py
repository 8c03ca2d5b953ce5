"""One job's life as a page of text."""

from typing import TYPE_CHECKING, Any

import msgspec

from runtime.cli.output import add, printable, table

if TYPE_CHECKING:
    from control.explain import Why
    from control.life import Life

LONGEST_VALUE = 400


def render_life(life: "Life", why: "Why") -> Any:
    """What the job is, where it stands and why, then what happened to it in order."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [_facts(life), Text("")]
    parts += [Text(printable(f"why: {why.summary}"))]
    if why.next:
        parts += [Text(printable(f"next: {why.next}"))]
    parts += [Text(""), _events(life)]
    if life.effects:
        parts += [Text(""), _effects(life)]
    return Group(*parts)


def _facts(life: "Life") -> Any:
    job = life.job
    made = table("", "")
    made.show_header = False
    state = "waiting" if job.state == "ready" and job.due is not None else str(job.state)
    add(made, "job", job.id)
    add(made, "state", state)
    add(made, "workflow", job.workflow)
    add(made, "flow", "none of its own" if job.flow is None else f"{job.flow}, number {job.seq}")
    add(made, "definition", job.current_digest)
    if job.accepted_digest != job.current_digest:
        add(made, "accepted as", f"{job.accepted_digest} (binding revision {job.binding_revision})")
    add(made, "step", f"{job.cursor} committed")
    add(made, "generation", f"{job.generation} ({job.attempts} attempts at this step, {job.lifetime_attempts} in all)")
    add(made, "payload", _brief(life.payload))
    return made


def _events(life: "Life") -> Any:
    from control.times import Clock

    clock = Clock(life.clock, life.now)
    made = table("WHEN", "WHAT", "HOW")
    for event in life.events:
        add(made, clock.at(event.at), event.what, event.text)
    return made


def _effects(life: "Life") -> Any:
    made = table("STEP", "NAME", "VALUE", right=("STEP",))
    for effect in life.effects:
        add(made, effect.step, effect.name, _brief(effect.value))
    return made


def _brief(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    if len(text) <= LONGEST_VALUE:
        return text
    return f"{text[:LONGEST_VALUE]}… ({len(text)} characters; -o json shows all)"

"""What may happen to a job: its phases, the legal moves, and how a callback or an operator's wish is judged.

Source: contract §5 to §8; SCENARIOS, table T.
"""

from enum import IntEnum

import msgspec

from runtime.protocol.records import Token
from runtime.protocol.verdicts import State, Verdict


class Phase(IntEnum):
    """A job's state as the store keeps it; two of a kind are told apart so that every rule is one comparison."""

    READY = 0
    WAITING = 1
    INFLIGHT = 2
    HELD = 3
    QUARANTINED = 4
    DONE = 5


# bound once: on Python 3.11 an enumeration finds its members by a call
READY, WAITING, INFLIGHT, HELD, DONE = Phase.READY, Phase.WAITING, Phase.INFLIGHT, Phase.HELD, Phase.DONE

STATES = {
    Phase.READY: State.READY,
    Phase.WAITING: State.READY,
    Phase.INFLIGHT: State.INFLIGHT,
    Phase.HELD: State.INFLIGHT,
    Phase.QUARANTINED: State.QUARANTINED,
    Phase.DONE: State.DONE,
}

# from, by which verb, to; the drawing in ARCHITECTURE.md is made from this table
MOVES: tuple[tuple[Phase, str, Phase], ...] = (
    (Phase.READY, "claim", Phase.INFLIGHT),
    (Phase.READY, "claim", Phase.HELD),
    (Phase.READY, "quarantine_job", Phase.QUARANTINED),
    (Phase.READY, "migrate", Phase.READY),
    (Phase.WAITING, "sweep", Phase.READY),
    (Phase.WAITING, "quarantine_job", Phase.QUARANTINED),
    (Phase.WAITING, "migrate", Phase.READY),
    (Phase.INFLIGHT, "commit_step", Phase.READY),
    (Phase.INFLIGHT, "commit_step", Phase.DONE),
    (Phase.INFLIGHT, "fail", Phase.WAITING),
    (Phase.INFLIGHT, "fail", Phase.QUARANTINED),
    (Phase.INFLIGHT, "release", Phase.READY),
    (Phase.INFLIGHT, "quarantine", Phase.QUARANTINED),
    (Phase.INFLIGHT, "sweep", Phase.READY),
    (Phase.INFLIGHT, "sweep", Phase.QUARANTINED),
    (Phase.INFLIGHT, "recover", Phase.READY),
    (Phase.INFLIGHT, "quarantine_job", Phase.QUARANTINED),
    (Phase.HELD, "commit_step", Phase.READY),
    (Phase.HELD, "commit_step", Phase.DONE),
    (Phase.HELD, "fail", Phase.WAITING),
    (Phase.HELD, "fail", Phase.QUARANTINED),
    (Phase.HELD, "release", Phase.READY),
    (Phase.HELD, "quarantine", Phase.QUARANTINED),
    (Phase.HELD, "recover", Phase.READY),
    (Phase.HELD, "quarantine_job", Phase.QUARANTINED),
    (Phase.QUARANTINED, "redrive", Phase.READY),
)


def drawing() -> str:
    """The moves as a Mermaid state diagram; ARCHITECTURE.md shows it."""
    labels: dict[tuple[Phase, Phase], list[str]] = {}
    for source, verb, target in MOVES:
        labels.setdefault((source, target), []).append(verb)
    lines = ["stateDiagram-v2", "    [*] --> READY: admit"]
    lines += [f"    {source.name} --> {target.name}: {', '.join(verbs)}" for (source, target), verbs in labels.items()]
    return "\n".join([*lines, "    DONE --> [*]"])


class Policy(msgspec.Struct, frozen=True):
    """What a manifest says of one step, spread out."""

    name: str
    budget: int
    base: int
    ceiling: int
    lease: int
    time_limit: int
    hold: bool


class Definition(msgspec.Struct, frozen=True):
    """A registered manifest as the store's machinery sees it."""

    id: int
    digest: str
    workflow: str
    steps: tuple[Policy, ...]


class Facts(msgspec.Struct):
    """What a transaction knows of one job; changed as items of a batch are judged in order, then written back.

    `width` is its flow's (0: ordered); `anonymous` that the job has no flow.
    """

    id: int
    key: str
    flow: int
    seq: int
    definition: int
    binding: int
    state: int
    cursor: int
    generation: int
    attempts: int
    lifetime: int
    due: int | None
    lease: int | None
    since: int | None
    worker: int | None
    reason: str | None
    width: int
    anonymous: bool


def occupies(width: int, phase: int) -> bool:
    """Whether a job in this phase takes a place of its flow (width 0: an ordered flow, whose waiting head blocks it).

    A quarantined job of an ordered flow takes no place: it blocks those behind it by its sequence number.
    """
    return phase in (INFLIGHT, HELD) or (width == 0 and phase == WAITING)


def judge(facts: Facts, token: Token, definition: int | None, now: int) -> Verdict | None:
    """Why a callback may not write: `stale` or `expired`; None if it may. `definition` is the token's digest's."""
    if (
        facts.generation != token.generation
        or facts.cursor != token.cursor
        or facts.binding != token.binding_revision
        or facts.definition != definition
    ):
        return Verdict.STALE
    if facts.state == HELD:
        return None
    if facts.state == INFLIGHT:
        assert facts.lease is not None
        return None if now <= facts.lease else Verdict.EXPIRED
    # a lease that stays on a job that is not in flight is that of a lapse, swept and not taken over yet
    return Verdict.EXPIRED if facts.lease is not None else Verdict.STALE


def judge_redrive(facts: Facts, generation: int) -> tuple[Verdict, str | None]:
    """`redriven`, or why not."""
    if facts.generation != generation:
        return Verdict.STALE, f"the job's generation is {facts.generation}, not {generation}"
    if facts.state != Phase.QUARANTINED:
        return Verdict.REFUSED, f"the job is {describe(facts)}; only a quarantined job is redriven"
    return Verdict.REDRIVEN, None


def judge_recover(facts: Facts, generation: int) -> tuple[Verdict, str | None]:
    """`recovered`, or why not."""
    if facts.generation != generation:
        return Verdict.STALE, f"the job's generation is {facts.generation}, not {generation}"
    if facts.state not in (Phase.INFLIGHT, Phase.HELD):
        return Verdict.REFUSED, f"the job is {describe(facts)}; only a job in flight is recovered"
    return Verdict.RECOVERED, None


def judge_quarantine(facts: Facts, generation: int) -> tuple[Verdict, str | None]:
    """`quarantined` by an operator, or why not."""
    if facts.generation != generation:
        return Verdict.STALE, f"the job's generation is {facts.generation}, not {generation}"
    if facts.state in (Phase.QUARANTINED, Phase.DONE):
        return Verdict.REFUSED, f"the job is {describe(facts)}; only a ready or in-flight job is quarantined"
    return Verdict.QUARANTINED, None


def judge_migrate(
    facts: Facts, source: Definition, target: Definition | None, *, effects_checked: bool, as_ready: bool = False
) -> tuple[Verdict, str | None]:
    """`migrated`, or why not; `as_ready`: redrive or recover makes it ready in the same transaction."""
    cause = None
    if target is None:
        cause = "the target definition is not registered"
    elif target.workflow != source.workflow:
        cause = f"the target is a definition of workflow {target.workflow!r}, the job's is {source.workflow!r}"
    elif target.id == facts.definition:
        cause = "the job is bound to that definition already"
    elif not as_ready and facts.state not in (Phase.READY, Phase.WAITING):
        cause = f"the job is {describe(facts)}; only a ready job is migrated"
    elif facts.cursor > 0:
        cause = f"{facts.cursor} of its steps are committed; only a job with none is migrated"
    elif facts.lifetime > 0 and source.steps[0].hold and not effects_checked:
        cause = (
            f"it was claimed {facts.lifetime} times under hold: look whether its first step had an effect outside, "
            f"then say effects_checked"
        )
    return (Verdict.MIGRATED, None) if cause is None else (Verdict.REFUSED, cause)


def describe(facts: Facts) -> str:
    """A job's phase in words."""
    return {
        Phase.READY: "ready",
        Phase.WAITING: "ready and backing off",
        Phase.INFLIGHT: "in flight",
        Phase.HELD: "in flight under hold",
        Phase.QUARANTINED: "quarantined",
        Phase.DONE: "done",
    }[Phase(facts.state)]

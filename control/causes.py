"""Each cause of waiting as a sentence with names, and what a person can do about it."""

from collections.abc import Callable, Container, Mapping

from control.times import Clock
from runtime.store.explain import Blocker

ORDER = ("held", "quarantined", "undeclared", "lapsed", "leased", "waiting", "due", "full", "ready", "behind")

MEANING: Mapping[str, str] = {
    "held": "held past the lease: nobody knows whether the step happened",
    "quarantined": "quarantined: out of rotation until a person acts",
    "undeclared": "ready, but no live worker declares the definition",
    "lapsed": "lease lapsed: the next sweep makes it ready",
    "leased": "in flight at a worker",
    "waiting": "backing off after a failure",
    "due": "its wait is over: the next sweep makes it ready",
    "full": "every place of its free flow is taken",
    "ready": "ready: its turn comes when a worker has a free place",
    "behind": "behind another job of its flow",
}

NEXT: Mapping[str, str] = {
    "held": "find out what the step did outside, then `recover {job} --reason …`",
    "quarantined": "remove the cause, then `redrive {job} --reason …`",
    "undeclared": "start a worker that declares {digest} (`work MODULE:APP`), or move it: "
    "`definitions migrate {job} --to DIGEST --reason …`, while no step is committed",
    "lapsed": "nothing, while any worker is live (`status` lists them)",
    "leased": "nothing; `recover {job} --live --reason …` takes it away from its worker",
    "waiting": "nothing; it goes on by itself",
    "due": "nothing, while any worker is live (`status` lists them)",
    "full": "nothing; `flows set FLOW --width N --reason …` makes more places",
    "ready": "nothing; more `--concurrency` or `--processes` gives more places",
    "behind": "`why job {behind}` says what that one waits for",
}


def sentence(blocker: Blocker, clock: Clock) -> str:
    """Why this job is not further, with names and times."""
    return _SENTENCES[blocker.cause](blocker, clock)


def advice(blocker: Blocker, covered: Container[str]) -> str:
    """What a person can do about it; `covered` are the digests that a live worker declares."""
    if blocker.cause in ("waiting", "due", "lapsed") and blocker.digest not in covered:
        return f"start a worker that declares {blocker.digest[:12]} (`work MODULE:APP`): none is live"
    if blocker.cause == "behind" and blocker.behind is None:
        return "`why flow` with its flow's name shows what comes first"
    digest = blocker.digest[:12]
    return NEXT[blocker.cause].format(job=blocker.job, digest=digest, behind=blocker.behind)


def _held(job: Blocker, clock: Clock) -> str:
    return (
        f"held past its lease: step {job.step} began at worker {job.worker} at {clock.at(job.since)}, its lease ended "
        f"at {clock.at(job.lease_until)} ({clock.ago(job.lease_until)}), and under on_lapse=hold nobody takes it over"
        f"{_gone(job)}"
    )


def _lapsed(job: Blocker, clock: Clock) -> str:
    return (
        f"lease lapsed: step {job.step} was leased by {job.worker} at {clock.at(job.since)} until "
        f"{clock.at(job.lease_until)} ({clock.ago(job.lease_until)}); the next sweep makes it ready{_gone(job)}"
    )


def _leased(job: Blocker, clock: Clock) -> str:
    return (
        f"step {job.step} leased by {job.worker} at {clock.at(job.since)} until {clock.at(job.lease_until)} "
        f"({clock.ago(job.lease_until)}), attempt {job.attempts} of {job.budget}{_gone(job)}"
    )


def _gone(job: Blocker) -> str:
    return "" if job.worker_alive else "; that worker is gone (nothing heard of it for three seconds)"


def _waiting(job: Blocker, clock: Clock) -> str:
    because = f", because: {job.reason}" if job.reason else ""
    return (
        f"backing off since {clock.at(job.since)} until {clock.at(job.due)} ({clock.ago(job.due)}) after attempt "
        f"{job.attempts} of {job.budget} of step {job.step}{because}"
    )


def _due(job: Blocker, clock: Clock) -> str:
    return f"its wait was over at {clock.at(job.due)} ({clock.ago(job.due)}); the next sweep makes it ready"


def _quarantined(job: Blocker, clock: Clock) -> str:
    return f"quarantined at {clock.at(job.since)} ({clock.ago(job.since)}) at step {job.step} because: {job.reason}"


def _undeclared(job: Blocker, clock: Clock) -> str:
    return (
        f"ready since {clock.at(job.since)} ({clock.ago(job.since)}), but no live worker declares "
        f"{job.digest[:12]} of workflow {job.workflow}"
    )


def _behind(job: Blocker, clock: Clock) -> str:
    flow = f" of flow {job.flow}" if job.flow is not None else ""
    first = f"job {job.behind}" if job.behind is not None else "another job"
    return f"behind {first}{flow}, which comes first; accepted {clock.ago(job.admitted_at)}"


def _full(job: Blocker, _clock: Clock) -> str:
    flow = f"its free flow {job.flow}" if job.flow is not None else "its flow"
    return f"ready, but {flow} has {job.taken} of {job.width} places taken"


def _ready(job: Blocker, clock: Clock) -> str:
    since = f"{clock.at(job.since)} ({clock.ago(job.since)})"
    return f"ready for step {job.step} since {since}; its turn comes when a worker has a free place"


_SENTENCES: Mapping[str, Callable[[Blocker, Clock], str]] = {
    "held": _held,
    "lapsed": _lapsed,
    "leased": _leased,
    "waiting": _waiting,
    "due": _due,
    "quarantined": _quarantined,
    "undeclared": _undeclared,
    "behind": _behind,
    "full": _full,
    "ready": _ready,
}

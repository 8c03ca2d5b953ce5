"""The worker's log: every line names job, flow, step, generation and handler, in words and as fields."""

import logging
from typing import Any

from runtime.protocol.records import Claim
from workers.findings import Finding
from workers.handlers import Bound

logger = logging.getLogger("keepstep.worker")


def naming(claim: Claim, bound: Bound | None) -> dict[str, Any]:
    """The fields of a line about a claim."""
    return {
        "job": claim.token.job,
        "flow": claim.flow,
        "step": bound.step.name if bound is not None else claim.token.cursor,
        "generation": claim.token.generation,
        "handler": bound.step.op if bound is not None else None,
    }


def note(claim: Claim, bound: Bound | None, finding: Finding) -> None:
    """One line for an attempt that did not commit: a quarantine is an error, a wished wait no fault."""
    names = naming(claim, bound)
    asked = finding.after_ms is not None
    level = logging.ERROR if finding.verb == "quarantine" else logging.INFO if asked else logging.WARNING
    logger.log(
        level,
        "%s: job %s, flow %s, step %s, generation %s, handler %s: %s%s",
        finding.verb,
        *names.values(),
        finding.reason,
        f"\n{finding.trace}" if finding.trace else "",
        extra=names,
    )

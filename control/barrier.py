"""The barrier: a pool's coroutine that pauses a drain which asked for it, and an operator's drain and wait.

`paused` means: in the transaction that recorded it every accepted job was done, and nothing new is accepted or handed
out until `resume`. It is no lock on the file, and says nothing about which processes live.
"""

import logging
import time
from collections.abc import Callable
from typing import Protocol

import anyio
from anyio import Event, move_on_after

from runtime.faults import Faults
from runtime.protocol.records import Answer, Record
from runtime.protocol.verdicts import Mode, Verdict

DRAINING_LOOK_S = 0.5
SHORTEST_LOOK_S = 0.05
LAST_LOOK_S = 1.0
NEAR_THE_END = 10

log = logging.getLogger("keepstep.barrier")


class ControlRow(Protocol):
    """What the barrier reads of the control row."""

    mode: str
    version: int
    pause_version: int | None
    unfinished: int


class Desk(Protocol):
    """What the barrier needs of a store."""

    async def control(self) -> ControlRow: ...

    async def transition(
        self,
        action: str,
        expected_version: int,
        *,
        reason: str | None = None,
        actor: str = "operator",
        command_id: str | None = None,
        pause_when_empty: bool = False,
    ) -> Answer: ...


class Barrier:
    """The control coroutine of a pool. It looks when it is told to, and twice a second while a drain is on."""

    def __init__(self, desk: Desk, *, actor: str = "pool") -> None:
        self._desk = desk
        self._actor = actor
        self._event = Event()
        self._draining = False
        self._faults = Faults(log, "looking at the barrier", aside=True)

    def look(self) -> None:
        """Something may have changed: look soon."""
        self._event.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                await self._look()
            except Exception as error:
                await anyio.sleep(self._faults.failed(error))
            else:
                self._faults.succeeded()
            await self._wait()

    async def end(self) -> None:
        """The pool's last step is committed: look once more, since a pool that ends by itself may be the last one."""
        with move_on_after(LAST_LOOK_S):
            try:
                await self._look()
            except Exception as error:
                log.warning("the barrier was not looked at once more: %s", error)

    async def _look(self) -> None:
        row = await self._desk.control()
        self._draining = row.mode == Mode.DRAINING
        if self._draining and row.pause_version == row.version and row.unfinished == 0:
            reason = "the drain asked for it, and nothing is unfinished"
            answer = await self._desk.transition("pause", row.version, reason=reason, actor=self._actor)
            if answer.verdict is Verdict.PAUSED:
                self._draining = False
                log.info("paused at version %d: nothing is unfinished", answer.version)

    async def _wait(self) -> None:
        with move_on_after(DRAINING_LOOK_S if self._draining else None):
            await self._event.wait()
        self._event = Event()
        await anyio.sleep(SHORTEST_LOOK_S if self._draining else 0)


class Progress(Record, frozen=True):
    """A drain as it stands: unfinished jobs left, and how many a second were finished since it was joined."""

    version: int
    remaining: int
    per_second: float
    waited_s: float


class Drained(Record, frozen=True):
    """How a drain ended: the last answer, in words, and the exit code.

    0 paused or, without waiting, draining; 3 not drained by the deadline; 4 stale, or resumed meanwhile; 5 refused.
    """

    answer: Answer
    text: str
    code: int


CODES = {Verdict.STALE: 4, Verdict.CONFLICT: 4, Verdict.REFUSED: 5, Verdict.BUSY: 3}


async def drain(
    desk: Desk,
    *,
    wait: bool = False,
    deadline_s: float | None = None,
    pause: bool = True,
    expected_version: int | None = None,
    reason: str | None = None,
    actor: str = "operator",
    command_id: str | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Drained:
    """Close admission and let everything accepted finish; with `pause`, pause at once if nothing is unfinished.

    Without `expected_version` the present one is read and used. With `wait` a drain already under way is joined, the
    pause is sent from here when nothing is unfinished, and `on_progress` is called about twice a second.
    """
    row = await desk.control()
    begun = _joined(row)
    if begun is None or not wait or expected_version is not None:
        version = row.version if expected_version is None else expected_version
        begun = await desk.transition(
            "drain", version, reason=reason, actor=actor, command_id=command_id, pause_when_empty=pause
        )
    if begun.verdict is Verdict.STALE and wait and expected_version is None:
        # somebody was quicker by a moment: their drain will do
        begun = _joined(await desk.control()) or begun
    if begun.verdict is Verdict.PAUSED:
        return Drained(begun, f"already paused at version {begun.version}", 0)
    if begun.verdict is not Verdict.DRAINING:
        return Drained(begun, begun.cause or begun.verdict, CODES.get(begun.verdict, 1))
    assert begun.version is not None
    if pause:
        paused = await desk.transition("pause", begun.version, reason=reason, actor=actor)
        if paused.verdict is Verdict.PAUSED:
            return Drained(paused, f"paused at version {paused.version}: nothing is unfinished", 0)
    if not wait:
        return Drained(begun, f"draining at version {begun.version}", 0)
    return await _wait(desk, begun, deadline_s, pause, reason, actor, on_progress)


def _joined(row: ControlRow) -> Answer | None:
    """What joining a drain already under way begins with; None while the store is open."""
    if row.mode == Mode.OPEN:
        return None
    cause = f"joins the drain already under way (version {row.version})"
    return Answer(Verdict(row.mode), cause=cause, mode=Mode(row.mode), version=row.version)


async def _wait(
    desk: Desk,
    begun: Answer,
    deadline_s: float | None,
    pause: bool,
    reason: str | None,
    actor: str,
    on_progress: Callable[[Progress], None],
) -> Drained:
    """Until the drain of `begun` has ended, one way or another."""
    assert begun.version is not None
    version, started = begun.version, time.monotonic()
    first: int | None = None
    while True:
        row = await desk.control()
        waited_s = time.monotonic() - started
        mode = Mode(row.mode)
        present = Answer(Verdict(row.mode), mode=mode, version=row.version)
        if mode is Mode.PAUSED and row.version == version + 1:
            return Drained(present, f"paused at version {row.version}: nothing is unfinished", 0)
        if row.version != version:
            return Drained(present, f"resumed meanwhile: the store is {mode} at version {row.version}", 4)
        if row.unfinished == 0:
            if not pause:
                return Drained(present, f"draining at version {version}, and nothing is unfinished", 0)
            await desk.transition("pause", version, reason=reason, actor=actor)
            continue
        first = row.unfinished if first is None else first
        rate = (first - row.unfinished) / waited_s if waited_s > 0 else 0.0
        on_progress(Progress(version, row.unfinished, max(rate, 0.0), waited_s))
        if deadline_s is not None and waited_s >= deadline_s:
            return Drained(present, f"still draining at its deadline: {row.unfinished} unfinished", 3)
        left_s = DRAINING_LOOK_S if deadline_s is None else min(DRAINING_LOOK_S, deadline_s - waited_s)
        await anyio.sleep(max(min(left_s, SHORTEST_LOOK_S) if row.unfinished < NEAR_THE_END else left_s, 0.01))

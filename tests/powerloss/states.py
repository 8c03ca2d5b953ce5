"""The disks to look at: spread over a child's whole log, each what chance may leave at its moment."""

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import msgspec

from tests.powerloss.disk import LOSSES, Disk
from tests.powerloss.log import Answered, Record


class State(NamedTuple):
    """A disk after a power loss at the `moment`-th record, and what had been answered by then."""

    moment: int
    loss: str
    files: dict[str, bytes]
    answered: Answered


def states(records: Sequence[Record], count: int, random: Random) -> Iterator[State]:
    """About so many different disks, in the order of their moments."""
    disk, answered = Disk(), Answered()
    seen: set[bytes] = set()
    made = 0
    due = deque(sorted(random.randint(1, len(records)) for _ in range(count)))
    for moment, record in enumerate(records, 1):
        if record.operation == "A":
            said = msgspec.json.decode(record.data, type=Answered)
            answered = Answered(answered.jobs + said.jobs, answered.effects + said.effects)
        else:
            disk.replay(record)
        while due and due[0] == moment:
            due.popleft()
            made += 1
            loss = LOSSES[made % len(LOSSES)]
            state = State(moment, loss, disk.after(loss, random), answered)
            mark = fingerprint(state)
            if mark not in seen:
                seen.add(mark)
                yield state


def fingerprint(state: State) -> bytes:
    """Tells disks with their answers apart."""
    found = hashlib.sha256(repr((len(state.answered.jobs), len(state.answered.effects))).encode())
    for suffix, content in sorted(state.files.items()):
        found.update(f"{suffix} {len(content)} ".encode() + content)
    return found.digest()

"""A disk that keeps what was synced for certain, and of the rest whatever chance leaves: whole writes or sectors.

A name is on the disk once its folder was synced; names that were not reach it in the order they were made.
"""

from random import Random
from typing import NamedTuple

from tests.powerloss.log import Record

SECTOR = 512
SUFFIXES = {1: "", 2: "-wal", 3: "-journal"}
FOLDER = 5
LOSSES = ("everything unsynced", "some writes", "some sectors", "the latest writes")


class Write(NamedTuple):
    """A change of one file that is not synced yet; `data` is None for a truncation to `offset`."""

    offset: int
    data: bytes | None


class Inode:
    """One file's content: what is certain, and what was written since."""

    def __init__(self) -> None:
        self.certain = bytearray()
        self.pending: list[Write] = []

    def sync(self) -> None:
        """All of it is certain now."""
        for write in self.pending:
            apply(self.certain, write)
        self.pending = []


def apply(content: bytearray, write: Write) -> None:
    """Change a content as the call did."""
    if write.data is None:
        del content[write.offset :]
        content.extend(bytes(write.offset - len(content)))
        return
    content.extend(bytes(max(0, write.offset - len(content))))
    content[write.offset : write.offset + len(write.data)] = write.data


class Disk:
    """The files of one database while its log is replayed."""

    def __init__(self) -> None:
        self.names: dict[str, Inode] = {}
        self._certain: dict[str, Inode] = {}
        self._renaming: list[tuple[str, Inode | None]] = []

    def replay(self, record: Record) -> None:
        """One record more."""
        if record.operation == "S" and record.file == FOLDER:
            self._certain, self._renaming = dict(self.names), []
            return
        name = SUFFIXES[record.file]
        if record.operation == "C":
            self._name(name, Inode())
        elif record.operation == "U":
            self._name(name, None)
        elif record.operation == "S":
            self.names[name].sync()
        else:
            data = record.data if record.operation == "W" else None
            self.names[name].pending.append(Write(record.offset, data))

    def _name(self, name: str, inode: Inode | None) -> None:
        self._renaming.append((name, inode))
        if inode is None:
            del self.names[name]
        else:
            self.names[name] = inode

    def after(self, loss: str, random: Random) -> dict[str, bytes]:
        """What a power loss at this moment may leave, by the files' suffixes."""
        names = dict(self._certain)
        lasting = 0 if loss == LOSSES[0] else random.randint(0, len(self._renaming))
        for name, inode in self._renaming[:lasting]:
            if inode is None:
                names.pop(name, None)
            else:
                names[name] = inode
        chance = random.choice((0.1, 0.5, 0.9))
        return {name: left(inode, loss, chance, random) for name, inode in names.items()}


def left(inode: Inode, loss: str, chance: float, random: Random) -> bytes:
    """What is left of one file."""
    content = bytearray(inode.certain)
    writes = inode.pending
    if loss == "everything unsynced":
        writes = []
    elif loss == "the latest writes":
        writes = writes[: random.randint(0, len(writes))]
    for write in writes:
        if loss == "some sectors" and write.data is not None:
            for sector in sectors(write.offset, write.data):
                if random.random() < chance:
                    apply(content, sector)
        elif loss == "the latest writes" or random.random() < chance:
            apply(content, write)
    return bytes(content)


def sectors(offset: int, data: bytes) -> list[Write]:
    """A write in the pieces that a disk writes at once."""
    found = []
    end = offset + len(data)
    while offset < end:
        stop = min(end, (offset // SECTOR + 1) * SECTOR)
        found.append(Write(offset, data[: stop - offset]))
        data = data[stop - offset :]
        offset = stop
    return found

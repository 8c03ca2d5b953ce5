"""The shim beside this file: compiled when it is needed, preloaded into a child, armed by the child itself."""

import ctypes
import os
import shutil
import subprocess
import sys
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
ROOT = SOURCE.parents[2]


class Mode(IntEnum):
    """What the shim does, by the numbers of its `enum mode`."""

    OFF = 0
    RECORD = 1
    COUNT = 2
    EIO_ONCE = 3
    EIO_STICKY = 4
    ENOSPC_STICKY = 5
    KILL_BEFORE = 6
    KILL_AFTER = 7
    TORN = 8


FILES = ("nothing", "database", "wal", "journal", "shm", "folder")
OPERATIONS = {"W": "write", "T": "truncate", "S": "sync", "U": "unlink"}


def missing() -> str | None:
    """Why there can be no shim here; None if there can."""
    if not sys.platform.startswith("linux"):
        return f"writes are recorded through LD_PRELOAD, which is for Linux; this is {sys.platform}"
    if compiler() is None:
        return "a C compiler (gcc or cc) is needed for tests/powerloss/shim.c, and none is installed"
    return None


def compiler() -> str | None:
    """A C compiler."""
    return shutil.which("gcc") or shutil.which("cc")


def built(folder: Path) -> Path:
    """The shim as a shared library in this folder."""
    library = folder / "shim.so"
    program = compiler()
    assert program is not None
    subprocess.run(
        [program, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"], check=True
    )
    return library


def environment(library: Path) -> dict[str, str]:
    """A child's environment: the shim before everything else, and this very code importable."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": path}


class Shim:
    """The shim inside a child."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.keepstep_shim_call.restype = ctypes.c_char_p

    def arm(self, path: Path, mode: Mode, *, call: int = 0, log: int = -1) -> None:
        """From now on this database's calls are counted anew, recorded, or failed from the given one on."""
        self._library.keepstep_shim_arm(os.fsencode(path), int(mode), call, log)

    def lift(self) -> None:
        """There is no fault any more; calls are counted on."""
        self._library.keepstep_shim_lift()

    @property
    def fired(self) -> int:
        """How often a call failed."""
        return int(self._library.keepstep_shim_fired())

    @property
    def count(self) -> int:
        """How many calls were made."""
        return int(self._library.keepstep_shim_count())

    def call(self, number: int) -> str:
        """What the call of this number (from 1) was: `sync wal`."""
        operation, file = self._library.keepstep_shim_call(number - 1)[:2].decode()
        return f"{OPERATIONS[operation]} {FILES[int(file)]}"

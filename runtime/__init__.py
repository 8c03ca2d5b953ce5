"""keepstep, a durable asynchronous worker runtime in one SQLite file: the public names, and nothing else.

They are loaded when they are first asked for, so that a room may import its neighbours without a cycle.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.embed import connect as connect
    from runtime.embed import run as run
    from runtime.protocol.errors import InvalidValue as InvalidValue
    from runtime.protocol.errors import ItemError as ItemError
    from runtime.protocol.errors import KeepstepError as KeepstepError
    from runtime.protocol.errors import StoreError as StoreError
    from runtime.protocol.manifest import Manifest as Manifest
    from runtime.protocol.manifest import Step as Step
    from runtime.protocol.records import Admission as Admission
    from runtime.protocol.records import Answer as Answer
    from runtime.protocol.records import Commit as Commit
    from runtime.protocol.records import Token as Token
    from runtime.protocol.records import Worker as Worker
    from runtime.protocol.verdicts import Mode as Mode
    from runtime.protocol.verdicts import State as State
    from runtime.protocol.verdicts import Verdict as Verdict
    from runtime.stopping import Stop as Stop
    from runtime.store.store import Store as Store

HOMES = {
    "connect": "runtime.embed",
    "run": "runtime.embed",
    "InvalidValue": "runtime.protocol.errors",
    "ItemError": "runtime.protocol.errors",
    "KeepstepError": "runtime.protocol.errors",
    "StoreError": "runtime.protocol.errors",
    "Manifest": "runtime.protocol.manifest",
    "Step": "runtime.protocol.manifest",
    "Admission": "runtime.protocol.records",
    "Answer": "runtime.protocol.records",
    "Commit": "runtime.protocol.records",
    "Token": "runtime.protocol.records",
    "Worker": "runtime.protocol.records",
    "Mode": "runtime.protocol.verdicts",
    "State": "runtime.protocol.verdicts",
    "Verdict": "runtime.protocol.verdicts",
    "Stop": "runtime.stopping",
    "Store": "runtime.store.store",
}
__all__ = list(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'runtime' has no attribute {name!r}; it offers {', '.join(HOMES)}")
    return getattr(import_module(HOMES[name]), name)

"""What a worker and the processes of its `process=True` handlers say to each other: JSON, one message a line.

Parent to child: `Hello` once, then a `Call` per attempt and a `Reply` per `Ask`. Child to parent: `Ready` once, then
per call any number of `Ask` and one `Ended`. Binary columns and parameters travel as `{"base64": text}`.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from runtime.protocol.manifest import Step
from runtime.protocol.records import Claim


class Hello(msgspec.Struct, frozen=True, tag=True):
    """Which app to load (`module:name` or `file.py:name`), with the parent's import path."""

    target: str
    path: list[str]


class Call(msgspec.Struct, frozen=True, tag=True):
    """One attempt. `left_s`: seconds until its time limit, None without one."""

    claim: Claim
    step: Step
    store_id: str
    left_s: float | None


class Reply(msgspec.Struct, frozen=True, tag=True):
    """The answer to an `Ask`; `error` in words if there is none, and the `kind` of exception that it was."""

    value: Any = None
    error: str | None = None
    kind: str | None = None


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The app is loaded; or, with `error`, it could not be."""

    error: str | None = None


class Ask(msgspec.Struct, frozen=True, tag=True):
    """The handler wants something read: `effect` with a step's name, or `query` with SQL and parameters."""

    what: str
    args: list[Any]


class Ended(msgspec.Struct, frozen=True, tag=True):
    """How the handler ended: a value with its writes, or a finding (verb, reason, after_ms, trace)."""

    value: Any = None
    writes: list[tuple[str, Any]] = []
    finding: tuple[str, str, int | None, str | None] | None = None


ToChild = Hello | Call | Reply
ToParent = Ready | Ask | Ended


def write_line(message: ToChild | ToParent) -> bytes:
    """A message as one line; `TypeError` for what JSON has no word for."""
    return msgspec.json.encode(message) + b"\n"


_to_child = msgspec.json.Decoder(ToChild)
_to_parent = msgspec.json.Decoder(ToParent)


def read_in_child(line: bytes) -> ToChild:
    """The message behind a line from the parent."""
    return _to_child.decode(line)


def read_in_parent(line: bytes) -> ToParent:
    """The message behind a line from a child."""
    return _to_parent.decode(line)


def wrap(value: Any) -> Any:
    """Rows and parameters for the line: bytes are wrapped, sequences become lists."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {"names": {name: wrap(inner) for name, inner in value.items()}}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [wrap(inner) for inner in value]
    return value


def unwrap(value: Any) -> Any:
    """What `wrap` was given; sequences come back as tuples within one list."""
    if isinstance(value, dict):
        if "base64" in value:
            return base64.b64decode(value["base64"])
        return {name: unwrap(inner) for name, inner in value["names"].items()}
    if isinstance(value, list):
        return [unwrap(inner) for inner in value]
    return value

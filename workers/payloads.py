"""Payloads against their msgspec Struct, with the place of what does not fit."""

from typing import Any

import msgspec

from runtime.protocol.canonical import canonical
from runtime.protocol.errors import InvalidValue


def fitting(payload: Any, shape: type | None) -> Any:
    """The payload as plain JSON data, once it fits; `InvalidValue` names the place, as in `payload.items[3].price`."""
    if isinstance(payload, msgspec.Struct):
        payload = msgspec.to_builtins(payload)
    canonical(payload, "payload")
    if shape is not None:
        try:
            msgspec.convert(payload, shape)
        except msgspec.ValidationError as error:
            raise _misfit(error) from None
    return payload


def _misfit(error: msgspec.ValidationError) -> InvalidValue:
    expected, _, place = str(error).partition(" - at `$")
    return InvalidValue("payload" + place.rstrip("`"), expected)

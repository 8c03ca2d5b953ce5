"""Values at the door: what JSON is taken, its canonical bytes, its digest.

Source: RFC 8785 (JSON Canonicalization Scheme); contract §13.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
import rfc8785

from runtime.protocol.errors import InvalidValue

LARGEST_INTEGER = 2**53 - 1
LEAST_EXPONENT = 1e21  # from here on canonical JSON writes a double with an exponent, below as an integer's digits
MAX_BYTES = 1024 * 1024
PLAIN = msgspec.json.Encoder(order="sorted")
MAX_DEPTH = 64
MAX_NAME = 255


class Canonical(msgspec.Struct, frozen=True):
    """A value that was looked at and written as canonical JSON already."""

    text: str


def canonical(value: object, place: str = "value", *, limit_bytes: int = MAX_BYTES) -> bytes:
    """Canonical JSON of `value`, as UTF-8 bytes.

    Dicts with string keys, lists, tuples (they arrive as lists), strings, finite numbers, integers within
    ±(2^53 - 1), booleans and None are taken; everything else raises `InvalidValue` that names the place. A float that
    would be written as an integer's digits is held to the integers' limits, so that what is stored can be read again.
    """
    plain = _check(value, (place,), 0)
    data = PLAIN.encode(value) if plain else rfc8785.dumps(value)  # type: ignore[arg-type]
    if len(data) > limit_bytes:
        raise InvalidValue(place, f"takes {len(data)} bytes as JSON; at most {limit_bytes} are stored")
    return data


def digest(data: bytes) -> str:
    """SHA-256 of canonical bytes, in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def decode(data: bytes | str) -> Any:
    """The value behind canonical bytes that this project stored."""
    return msgspec.json.decode(data)


def parse(text: str | bytes, place: str = "value") -> Any:
    """The value behind JSON text of unknown origin; `InvalidValue` names what is wrong with it."""

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = dict(pairs)
        if len(names) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InvalidValue(place, f"the key {twice!r} stands twice in one object")
        return names

    def no_constant(word: str) -> NoReturn:
        raise InvalidValue(place, f"{word} is not JSON")

    def integer(digits: str) -> int:
        if len(digits) > 17:
            raise InvalidValue(place, f"an integer of {len(digits)} digits; at most ±(2^53 - 1) is taken")
        return int(digits)

    try:
        return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constant, parse_int=integer)
    except InvalidValue:
        raise
    except RecursionError:
        raise InvalidValue(place, f"nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise InvalidValue(place, f"not JSON: {error}") from None


def check_name(value: object, place: str) -> str:
    """A name: 1 to 255 characters, no NUL, no lone surrogate."""
    if not isinstance(value, str):
        raise InvalidValue(place, f"a string is expected, got {type(value).__name__}")
    if not 1 <= len(value) <= MAX_NAME:
        raise InvalidValue(place, f"1 to {MAX_NAME} characters are expected, got {len(value)}")
    if "\0" in value:
        raise InvalidValue(place, "the character NUL is not taken in a name")
    if not value.isascii():
        _check_text(value, (place,))
    return str(value)


def check_integer(value: object, place: str, *, least: int = 0, most: int = LARGEST_INTEGER) -> int:
    """An integer within limits; a boolean or a float is none."""
    if type(value) is not int:
        raise InvalidValue(place, f"an integer is expected, got {type(value).__name__}")
    if not least <= value <= most:
        raise InvalidValue(place, f"an integer from {least} to {most} is expected")
    return value


def check_flag(value: object, place: str) -> bool:
    """True or False, and nothing that merely counts as one."""
    if not isinstance(value, bool):
        raise InvalidValue(place, f"true or false is expected, got {type(value).__name__}")
    return value


def check_reason(value: object, place: str = "reason") -> str:
    """A reason: text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidValue(place, "a reason that is not blank is expected")
    _check_text(value, (place,))
    return cut(value.replace("\0", "\N{REPLACEMENT CHARACTER}"))


def cut(text: str, limit_bytes: int = 8192) -> str:
    """Text of at most `limit_bytes` of UTF-8, cut at a character and marked; lone surrogates are replaced."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit_bytes:
        return data.decode("utf-8")
    mark = f" … [cut, {len(data)} bytes in all]"
    return data[: limit_bytes - len(mark.encode())].decode("utf-8", "ignore") + mark


def _check(value: object, path: Sequence[str | int], depth: int) -> bool:
    """Refuse what is not taken; True if the value is plain: without floats, with ASCII keys, of JSON's own types only.

    For plain values a sorted compact encoding is the canonical one, at a fiftieth of the cost; a property compares.
    """
    kind = type(value)
    if kind is str:
        if not value.isascii():  # type: ignore[attr-defined]
            _check_text(value, path)  # type: ignore[arg-type]
        return True
    if value is None or kind is bool:
        return True
    if kind is int:
        if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:  # type: ignore[operator]
            raise InvalidValue(_name(path), "an integer beyond ±(2^53 - 1) is not taken; pass it as a string")
        return True
    if depth >= MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        raise InvalidValue(_name(path[:3]), f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        return _check_object(value, path, depth) and kind is dict
    if isinstance(value, (list, tuple)):
        plain = [_check(inner, (*path, index), depth + 1) for index, inner in enumerate(value)]
        return all(plain) and kind in (list, tuple)
    if kind is float:
        _check_float(value, path)  # type: ignore[arg-type]
    elif isinstance(value, str):
        _check_text(value, path)
    else:
        raise InvalidValue(_name(path), f"{kind.__name__} is not JSON")
    return False


def _check_object(value: dict[Any, Any], path: Sequence[str | int], depth: int) -> bool:
    plain = True
    for key, inner in value.items():
        if not isinstance(key, str):
            raise InvalidValue(_name((*path, repr(key))), f"a key must be a string, got {type(key).__name__}")
        if not key.isascii():
            _check_text(key, (*path, key))
            plain = False
        plain = _check(inner, (*path, key), depth + 1) and type(key) is str and plain
    return plain


def _check_float(value: float, path: Sequence[str | int]) -> None:
    if not math.isfinite(value):
        raise InvalidValue(_name(path), f"{value} is not JSON")
    if LARGEST_INTEGER < abs(value) < LEAST_EXPONENT:
        raise InvalidValue(_name(path), "an integer beyond ±(2^53 - 1) is not taken; pass it as a string")


def _check_text(value: str, path: Sequence[str | int]) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidValue(_name(path), "a lone surrogate is not text") from None


def _name(path: Sequence[str | int]) -> str:
    head, *rest = path
    return str(head) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)

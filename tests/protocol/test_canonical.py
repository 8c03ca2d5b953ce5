"""What JSON is taken at the door, its canonical bytes and its digest (contract §13, RFC 8785)."""

import json
import math
import random
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from runtime.protocol.canonical import (
    LARGEST_INTEGER,
    MAX_DEPTH,
    canonical,
    check_integer,
    check_name,
    check_reason,
    cut,
    decode,
    digest,
    parse,
)
from runtime.protocol.errors import InvalidValue

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda one: not LARGEST_INTEGER < abs(one) < 1e21)
SCALARS = st.none() | st.booleans() | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | FLOATS | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    if isinstance(value, list):
        return [shuffled(inner, chance) for inner in value]
    return value


@given(VALUES)
def test_canonical_bytes_read_back_to_the_same_value(value: Any) -> None:
    data = canonical(value)
    assert decode(data) == value
    assert parse(data) == value
    assert canonical(decode(data)) == data


@given(VALUES)
def test_the_bytes_are_those_of_the_canonical_form_whatever_way_is_taken(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


def test_every_character_is_written_as_the_canonical_form_writes_it() -> None:
    for first in range(0, 0x110000, 0x800):
        text = "".join(chr(code) for code in range(first, first + 0x800) if not 0xD800 <= code <= 0xDFFF)
        assert canonical({"a": text, "A": [text]}) == rfc8785.dumps({"a": text, "A": [text]})
    ascii_keys = {chr(code): code for code in range(128)}
    assert canonical(ascii_keys) == rfc8785.dumps(ascii_keys)


@given(VALUES, st.randoms(use_true_random=False))
def test_v2_key_order_never_changes_the_bytes_at_any_depth(value: Any, chance: random.Random) -> None:
    assert canonical(shuffled(value, chance)) == canonical(value)


@given(st.lists(SCALARS, min_size=2, max_size=5, unique_by=lambda one: canonical(one)))
def test_the_order_of_a_list_always_changes_the_bytes(values: list[Any]) -> None:
    assert canonical(values) != canonical(values[::-1])


@given(VALUES, VALUES)
def test_different_values_have_different_digests(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    if same:
        assert digest(canonical(one)) == digest(canonical(other))
    elif canonical(one) != canonical(other):
        assert digest(canonical(one)) != digest(canonical(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(1, 1.0, id="integer-and-float"),
        pytest.param(0, -0.0, id="zero-and-minus-zero"),
        pytest.param(1e15, 1_000_000_000_000_000, id="two-spellings-of-a-float"),
        pytest.param((1, 2), [1, 2], id="tuple-and-list"),
        pytest.param({"a": [1]}, {"a": [1.0]}, id="deep-number"),
    ],
)
def test_v2_two_renderings_of_one_value_are_one(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(1, "1", id="number-and-text"),
        pytest.param(1, True, id="number-and-boolean"),
        pytest.param(0, False, id="zero-and-false"),
        pytest.param(None, {}, id="null-and-empty"),
        pytest.param("\u00e9", "e\u0301", id="composed-and-decomposed-text-is-not-normalised"),
    ],
)
def test_values_that_only_look_alike_differ(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        pytest.param({"a": {"b": [0, math.nan]}}, "payload.a.b[1]", id="nan"),
        pytest.param([math.inf], "payload[0]", id="infinity"),
        pytest.param({"n": LARGEST_INTEGER + 1}, "payload.n", id="integer-above"),
        pytest.param({"n": -LARGEST_INTEGER - 1}, "payload.n", id="integer-below"),
        pytest.param({"n": 2.0**53}, "payload.n", id="integer-above-spelled-as-a-float"),
        pytest.param({"n": -1e20}, "payload.n", id="integer-below-spelled-as-a-float"),
        pytest.param({"s": "\ud800"}, "payload.s", id="lone-surrogate"),
        pytest.param({"x": b"bytes"}, "payload.x", id="bytes"),
        pytest.param({"x": {1, 2}}, "payload.x", id="set"),
        pytest.param({"x": object()}, "payload.x", id="object"),
        pytest.param({1: "x"}, "payload", id="key-that-is-no-string"),
        pytest.param({"\udfff": 1}, "payload", id="key-with-a-lone-surrogate"),
    ],
)
def test_what_is_not_json_is_refused_and_the_place_is_named(value: Any, place: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        canonical(value, "payload")
    assert caught.value.place.startswith(place)
    assert place in str(caught.value)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_64_levels_are_taken_and_65_are_not() -> None:
    assert canonical(nested(MAX_DEPTH))
    with pytest.raises(InvalidValue, match="64"):
        canonical(nested(MAX_DEPTH + 1))


def test_a_very_deep_value_is_an_error_of_ours_and_no_recursion_error() -> None:
    with pytest.raises(InvalidValue):
        canonical(nested(50_000))
    with pytest.raises(InvalidValue):
        parse("[" * 100_000)


def test_the_limit_counts_canonical_bytes() -> None:
    assert len(canonical("x" * 8, limit_bytes=10)) == 10
    with pytest.raises(InvalidValue, match=r"11 bytes.*at most 10"):
        canonical("x" * 9, limit_bytes=10)
    with pytest.raises(InvalidValue, match="12 bytes"):
        canonical("\u00e9" * 5, limit_bytes=10)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param('{"a": 1, "a": 1}', "'a'", id="duplicate-key"),
        pytest.param('{"x": {"b": 1, "b": 2}}', "'b'", id="duplicate-key-inside"),
        pytest.param("NaN", "NaN", id="nan"),
        pytest.param("[-Infinity]", "-Infinity", id="infinity"),
        pytest.param("{", "not JSON", id="cut-short"),
        pytest.param("", "not JSON", id="empty"),
        pytest.param("[1]]", "not JSON", id="trailing"),
        pytest.param("9" * 5000, "integer", id="endless-integer"),
        pytest.param(b"\xff", "not JSON", id="not-utf8"),
    ],
)
def test_text_of_unknown_origin_is_read_strictly(text: str | bytes, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        parse(text)


@given(FLOATS)
def test_every_taken_double_survives(number: float) -> None:
    assert decode(canonical(number)) == number
    assert canonical(parse(canonical(number))) == canonical(number)


@given(st.integers(-LARGEST_INTEGER, LARGEST_INTEGER))
def test_every_taken_integer_is_written_in_full(number: int) -> None:
    assert canonical(number) == str(number).encode()


@pytest.mark.parametrize("length", [1, 255])
def test_names_of_1_to_255_characters_are_taken(length: int) -> None:
    assert check_name("\u00e9" * length, "id") == "\u00e9" * length


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("x" * 256, id="256"),
        pytest.param("a\0b", id="nul"),
        pytest.param("\ud800", id="lone-surrogate"),
        pytest.param(7, id="number"),
        pytest.param(None, id="none"),
        pytest.param(b"x", id="bytes"),
    ],
)
def test_v10_other_names_are_refused(name: object) -> None:
    with pytest.raises(InvalidValue, match="id"):
        check_name(name, "id")


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1, LARGEST_INTEGER + 1])
def test_d23_integers_are_integers_within_limits(value: object) -> None:
    with pytest.raises(InvalidValue, match="version"):
        check_integer(value, "version")


@pytest.mark.parametrize("value", ["", "  ", "\n\t", None, 3])
def test_blank_reasons_are_refused(value: object) -> None:
    with pytest.raises(InvalidValue, match="reason"):
        check_reason(value)


@given(st.text(max_size=400), st.integers(64, 300))
def test_stored_text_is_cut_at_a_character_and_marked(text: str, limit: int) -> None:
    data = cut(text, limit).encode("utf-8")
    assert len(data) <= limit
    whole = text.encode("utf-8", "replace")
    if len(whole) <= limit:
        assert data == whole
    else:
        assert f"[cut, {len(whole)} bytes in all]" in data.decode("utf-8")

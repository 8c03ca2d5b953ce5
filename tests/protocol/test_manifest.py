"""Manifests of format 1 and their digests (contract §3)."""

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.protocol.errors import InvalidValue
from runtime.protocol.manifest import Manifest, Step, check_manifest, manifest_from, manifest_from_bytes
from runtime.protocol.verdicts import OnLapse
from tests.protocol.test_canonical import TEXT, VALUES, shuffled

NAMES = TEXT.filter(lambda text: bool(text) and "\0" not in text)
STEPS = st.builds(
    lambda name, op, params, budget, base, more, lease, limit, lapse: Step(
        name, op, params, budget, base, base + more, lease, limit, lapse
    ),
    NAMES,
    NAMES,
    st.dictionaries(TEXT, VALUES, max_size=3),
    st.integers(1, 9),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from(OnLapse),
)
MANIFESTS = st.builds(
    lambda name, abi, steps: Manifest(name, abi, tuple(steps)),
    NAMES,
    NAMES,
    st.lists(STEPS, min_size=1, max_size=4, unique_by=lambda step: step.name),
)

BASE = Step("base", "credit", {"per_unit": 1}, base=2, ceiling=8, lease=5, time_limit=1_000)
BONUS = Step("bonus", "credit", {"flat": 1}, base=2, ceiling=8, lease=5, time_limit=1_000)
V1 = Manifest("points", "local-ledger/1", (BASE, BONUS))


def plain(manifest: Manifest) -> dict[str, Any]:
    return msgspec.json.decode(manifest.canonical)  # type: ignore[no-any-return]


@given(MANIFESTS, st.randoms(use_true_random=False))
def test_v2_key_order_never_changes_the_digest(manifest: Manifest, chance: random.Random) -> None:
    assert manifest_from(shuffled(plain(manifest), chance)).digest == manifest.digest


@given(MANIFESTS)
def test_the_registrys_bytes_read_back_to_the_same_definition(manifest: Manifest) -> None:
    again = manifest_from_bytes(manifest.canonical)
    assert again.digest == manifest.digest
    assert again.canonical == manifest.canonical
    assert manifest_from(json.loads(manifest.canonical)).digest == manifest.digest


@given(MANIFESTS)
def test_v3_step_order_always_changes_the_digest(manifest: Manifest) -> None:
    turned = Manifest(manifest.name, manifest.abi, manifest.steps[::-1])
    assert (turned.digest == manifest.digest) == (len(manifest.steps) == 1)


def changed(**fields: Any) -> Manifest:
    return Manifest("points", "local-ledger/1", (msgspec.structs.replace(BASE, **fields), BONUS))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Manifest("points", "local-ledger/1", (BONUS, BASE)), id="swapped-steps"),
        pytest.param(Manifest("points", "local-ledger/1", (BASE,)), id="a-step-less"),
        pytest.param(Manifest("points", "local-ledger/2", (BASE, BONUS)), id="abi"),
        pytest.param(Manifest("marks", "local-ledger/1", (BASE, BONUS)), id="workflow"),
        pytest.param(changed(name="basis"), id="step-name"),
        pytest.param(changed(op="debit"), id="op"),
        pytest.param(changed(params={"per_unit": 2}), id="parameter"),
        pytest.param(changed(params={}), id="no-parameter"),
        pytest.param(changed(budget=4), id="budget"),
        pytest.param(changed(base=1), id="base"),
        pytest.param(changed(ceiling=9), id="ceiling"),
        pytest.param(changed(lease=6), id="lease"),
        pytest.param(changed(time_limit=999), id="time-limit"),
        pytest.param(changed(on_lapse=OnLapse.HOLD), id="on-lapse"),
    ],
)
def test_v3_every_part_of_the_promise_changes_the_digest(other: Manifest) -> None:
    assert other.digest != V1.digest


def test_v3_a_default_spelled_out_and_left_out_is_one_digest() -> None:
    short = manifest_from({"name": "w", "abi": "a/1", "steps": [{"name": "s", "op": "o"}]})
    spelled = {
        "format": 1,
        "name": "w",
        "abi": "a/1",
        "steps": [
            {
                "name": "s",
                "op": "o",
                "params": {},
                "budget": 3,
                "base": 1_000,
                "ceiling": 300_000,
                "lease": 30_000,
                "time_limit": 3_600_000,
                "on_lapse": "retry",
            }
        ],
    }
    assert manifest_from(spelled).digest == short.digest
    assert plain(short) == spelled


def test_the_digest_of_a_definition_never_changes_between_releases() -> None:
    assert V1.digest == "6e6682622e339e38f3a71b7d6b1114c6b2392a5b3b8116c47eed4c080fd38d36"


def test_v2_two_renderings_of_one_number_are_one_digest() -> None:
    assert changed(params={"per_unit": 1.0}).digest == V1.digest


STEP = {"name": "s", "op": "o"}
WHOLE = {"name": "w", "abi": "a/1", "steps": [STEP]}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        pytest.param({**WHOLE, "steps": []}, "manifest.steps", id="no-steps"),
        pytest.param({**WHOLE, "steps": [STEP, STEP]}, "manifest.steps[1].name", id="two-steps-of-one-name"),
        pytest.param({**WHOLE, "extra": 1}, "manifest.extra", id="unknown-field"),
        pytest.param({**WHOLE, "steps": [{**STEP, "timeout": 1}]}, "manifest.steps[0].timeout", id="step-field"),
        pytest.param({**WHOLE, "steps": [{**STEP, "budget": 0}]}, "manifest.steps[0].budget", id="budget-0"),
        pytest.param({**WHOLE, "steps": [{**STEP, "budget": True}]}, "manifest.steps[0].budget", id="budget-true"),
        pytest.param({**WHOLE, "steps": [{**STEP, "lease": 0}]}, "manifest.steps[0].lease", id="lease-0"),
        pytest.param({**WHOLE, "steps": [{**STEP, "lease": 1.5}]}, "manifest.steps[0].lease", id="lease-no-integer"),
        pytest.param({**WHOLE, "steps": [{**STEP, "time_limit": 0}]}, "manifest.steps[0].time_limit", id="limit-0"),
        pytest.param({**WHOLE, "steps": [{**STEP, "base": -1}]}, "manifest.steps[0].base", id="base-negative"),
        pytest.param(
            {**WHOLE, "steps": [{**STEP, "base": 9, "ceiling": 8}]}, "manifest.steps[0].ceiling", id="ceiling-low"
        ),
        pytest.param({**WHOLE, "steps": [{**STEP, "on_lapse": "wait"}]}, "manifest.steps[0].on_lapse", id="on-lapse"),
        pytest.param({**WHOLE, "steps": [{**STEP, "name": ""}]}, "manifest.steps[0].name", id="step-name-empty"),
        pytest.param({**WHOLE, "name": ""}, "manifest.name", id="name-empty"),
        pytest.param({**WHOLE, "name": "x" * 256}, "manifest.name", id="name-of-256"),
        pytest.param({**WHOLE, "abi": None}, "manifest.abi", id="abi-none"),
        pytest.param({**WHOLE, "format": 2}, "manifest.format", id="format-2"),
        pytest.param({**WHOLE, "format": True}, "manifest.format", id="format-true"),
        pytest.param(
            {**WHOLE, "steps": [{**STEP, "params": {"x": float("nan")}}]}, "manifest.steps[0].params.x", id="nan-inside"
        ),
        pytest.param({**WHOLE, "steps": [{**STEP, "params": [1]}]}, "manifest.steps[0].params", id="params-no-object"),
        pytest.param({**WHOLE, "steps": "s"}, "manifest.steps", id="steps-no-list"),
        pytest.param({**WHOLE, "steps": ["s"]}, "manifest.steps[0]", id="step-no-object"),
        pytest.param({"abi": "a/1", "steps": [STEP]}, "manifest.name", id="name-absent"),
        pytest.param({**WHOLE, "steps": [{"name": "s"}]}, "manifest.steps[0].op", id="op-absent"),
        pytest.param("w", "manifest", id="no-object"),
    ],
)
def test_v5_anything_else_is_refused_at_the_door_with_the_place_named(value: object, place: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        manifest_from(value)
    assert caught.value.place == place


def test_v5_a_manifest_built_by_hand_is_checked_before_it_has_a_digest() -> None:
    bad = Manifest("points", "local-ledger/1", ())
    with pytest.raises(InvalidValue, match=r"manifest\.steps"):
        check_manifest(bad)
    with pytest.raises(InvalidValue, match=r"manifest\.steps"):
        _ = bad.digest

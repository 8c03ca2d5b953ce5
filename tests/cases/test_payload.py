"""Payload: a value is stored whole or refused at the door by name; nothing is converted in silence."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runtime import testing
from runtime.protocol.canonical import canonical
from runtime.protocol.errors import InvalidValue
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Admission
from runtime.store.inbox import Inbox
from runtime.store.store import Store
from tests.cases import apps
from tests.cases.looking import count, fields, prepared
from tests.cases.notes import notes
from tests.cases.pool import pool, terminal
from workers import App, Context, step

LARGEST = 2**53 - 1


async def refusals(store: Store, payloads: Sequence[Any]) -> list[str]:
    """Each payload is refused, singly and in a batch, and leaves no row; the places that the refusals name."""
    before = await count(store)
    places = []
    for number, payload in enumerate(payloads):
        with pytest.raises(InvalidValue) as caught:
            await store.admit("echo", f"refused-{number}", payload)
        (answer,) = await store.admit_many([Admission("echo", f"refused-{number}", payload)])
        assert isinstance(answer, InvalidValue)
        assert str(answer) == str(caught.value)
        places.append(caught.value.place)
    assert await count(store) == before
    return places


async def seen_elsewhere(store: Store, db: Path, payloads: Sequence[Any]) -> list[Any]:
    """What the handler in another process is given for each payload."""
    for number, payload in enumerate(payloads):
        assert (await store.admit("echo", f"seen-{number}", payload)).verdict == "accepted"
    async with pool(db, "--until-idle") as running:
        assert await running.wait() == 0, running.log
    seen = {entry["job"]: entry["payload"] for entry in notes(db.parent, "begin")}
    assert len(seen) == len(payloads)
    return [seen[f"seen-{number}"] for number in range(len(payloads))]


async def test_c37_nul_arrives_and_a_lone_surrogate_is_refused(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    assert await refusals(store, [{"s": "\ud800"}, {"\udfff": 1}]) == ["payload.s", "payload.\udfff"]
    assert await seen_elsewhere(store, db, [{"s": "a\u0000b"}]) == [{"s": "a\u0000b"}]
    assert [effect.value for effect in await store.effects("seen-0")] == [{"s": "a\u0000b"}]


async def test_c38_keys_that_are_no_strings_are_refused_and_a_tuple_arrives_as_a_list(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    odd: list[Any] = [{0: "zero"}, {None: 1}, {(1, 2): 3}, {"deep": [{1.5: 1}]}]
    places = ["payload.0", "payload.None", "payload.(1, 2)", "payload.deep[0].1.5"]
    assert await refusals(store, odd) == places
    assert await seen_elsewhere(store, db, [{"t": (1, 2)}]) == [{"t": [1, 2]}]
    assert canonical.__doc__ is not None
    assert "tuples (they arrive as lists)" in canonical.__doc__


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
async def test_c39_nan_and_infinity_are_refused_wherever_they_stand(logical: Store, number: float) -> None:
    deep = {"a": {"b": [number]}}
    app = App("echo", abi="cases/1")

    @app.step
    async def returns(ctx: Context) -> Any:
        return deep

    app.manifest([step("only", returns, budget=1, lease=5, base=1, ceiling=1)])
    await prepared(app, logical)
    assert await refusals(logical, [deep]) == ["payload.a.b[0]"]
    await logical.admit("echo", "J", 1)
    await testing.run_until_idle(app, logical)
    state, reason, attempts = await fields(logical, "J", "state", "reason", "attempts")
    assert (state, attempts) == ("quarantined", 1)
    assert "cannot be stored" in reason
    assert "a.b[0]" in reason
    assert await logical.effects("J") == []
    with pytest.raises(InvalidValue, match=r"params\.a\.b\[0\]"):
        await logical.register(Manifest("echo", "cases/1", (Step("only", "returns", deep),)))


async def test_c40_an_integer_arrives_exactly_or_is_refused(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    large = [2**63, 2**63 + 1, 10**400, 10**5000, 2**53, 2**53 + 1, -(2**53)]
    assert await refusals(store, [{"n": number} for number in large]) == ["payload.n"] * len(large)
    exact = [LARGEST, -LARGEST, LARGEST - 1, 0]
    seen = await seen_elsewhere(store, db, [{"n": number} for number in exact])
    assert [entry["n"] for entry in seen] == exact
    assert all(type(entry["n"]) is int for entry in seen)
    neighbour = await store.admit("echo", "seen-0", {"n": LARGEST - 1})
    assert (neighbour.verdict, neighbour.field) == ("conflict", "payload")
    with pytest.raises(InvalidValue):
        await store.admit("echo", "seen-0", {"n": LARGEST + 1})


def test_c40_numbers_that_differ_never_give_one_digest() -> None:
    def of(number: object) -> Manifest:
        return Manifest("m", "cases/1", (Step("only", "echo", {"n": number}),))

    assert len({of(number).digest for number in (LARGEST, LARGEST - 1, -LARGEST)}) == 3
    for number in (2**53, 2**53 + 1, 2**63, 10**400, float(2**53)):
        with pytest.raises(InvalidValue, match=r"params\.n"):
            _ = of(number).digest


async def test_c40_control_values_beyond_the_limit_get_a_typed_refusal(logical: Store, tmp_path: Path) -> None:
    for field in ("lease", "budget", "time_limit", "base", "ceiling"):
        policy: dict[str, Any] = {"ceiling": LARGEST, field: 2**63}
        with pytest.raises(InvalidValue, match=field):
            await logical.register(Manifest("m", "cases/1", (Step("only", "echo", **policy),)))
    with pytest.raises(InvalidValue):
        await logical.sweep(now=2**63)
    with pytest.raises(InvalidValue):
        await logical.transition("drain", 2**63)
    with pytest.raises(InvalidValue):
        await logical.redrive("J", 2**63, "why")
    async with await Inbox.open(tmp_path / "receiver.db") as inbox:
        with pytest.raises(InvalidValue, match="seq"):
            await inbox.receive("e", "F", 2**63, {"delta": 1})


NAMES = {
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467": "emoji joined by ZWJ",
    "漢字かな": "CJK",
    "שלום عالم": "right to left",
    "caf\u00e9": "composed",
    "cafe\u0301": "decomposed",
}


async def test_c41_text_outside_ascii_round_trips_and_lists_under_any_locale(store: Store, db: Path) -> None:
    await prepared(apps.app, store)
    for name in NAMES:
        answer = await store.admit("echo", name, {name: [name]}, flow=f"flow {name}")
        assert answer.verdict == "accepted"
    assert canonical({"\ufb33": 1, "\U0001f600": 2}).decode() == '{"\U0001f600":2,"\ufb33":1}'
    bare = {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    async with pool(db, "--until-idle", env=bare) as running:
        assert await running.wait() == 0, running.log
    seen = {entry["job"]: entry["payload"] for entry in notes(db.parent, "begin")}
    assert seen == {name: {name: [name]} for name in NAMES}
    lines = [["status"], ["jobs", "list"], ["jobs", "list", "-o", "json"], ["flows", "list"], ["why", "drain"]]
    lines += [["jobs", "show", name] for name in NAMES] + [["why", "job", name] for name in NAMES]
    ended = await terminal(db, *lines, env=bare)
    assert ended.returncode == 0, ended.stderr.decode()
    assert b"UnicodeEncodeError" not in ended.stderr


class Colour(enum.StrEnum):
    RED = "red"


@dataclass
class Point:
    x: int = 1


async def test_c42_types_that_are_no_json_are_refused_by_the_same_function_that_production_uses(
    store: Store, db: Path
) -> None:
    await prepared(apps.app, store)
    odd: list[Any] = [Decimal("1.5"), datetime(2025, 1, 1, tzinfo=UTC), {1, 2}, b"bytes", Point()]
    assert await refusals(store, [{"v": [value]} for value in odd]) == ["payload.v[0]"] * len(odd)
    (arrived,) = await seen_elsewhere(store, db, [{"v": Colour.RED}])
    assert arrived == {"v": "red"}
    assert type(arrived["v"]) is str
    payload = await store.payload("seen-0")
    assert type(payload["v"]) is str
    await through_the_helper(db.parent)


async def through_the_helper(folder: Path) -> None:
    """The helper for people's own tests encodes as production does."""
    app = App("echo", abi="cases/1")
    seen: list[Any] = []

    @app.step
    async def keep(ctx: Context) -> None:
        seen.append(ctx.payload)

    app.manifest([("only", keep)])
    async with testing.store(folder / "helper.db") as store:
        await testing.prepare(app, store)
        with pytest.raises(InvalidValue, match=r"payload\.v"):
            await app.admit(store, "odd", {"v": Decimal(1)})
        await app.admit(store, "J", {"v": Colour.RED, "t": (1, 2)})
        await testing.run_until_idle(app, store)
    assert seen == [{"v": "red", "t": [1, 2]}]
    assert type(seen[0]["v"]) is str

"""An app: handlers by name, manifests, and payloads checked before the store is asked."""

from typing import Any

import msgspec
import pytest

from runtime.protocol.errors import HandlerMismatch, InvalidValue
from runtime.protocol.manifest import Manifest, Step, manifest_from
from runtime.protocol.records import Admission, Answer
from runtime.protocol.verdicts import OnLapse, Verdict
from tests.workers.desk import worker
from workers import App, step


async def credit(ctx: Any, *, per_unit: int = 0, flat: int = 0) -> int:
    return int(ctx.payload["units"]) * per_unit + flat


class Points(msgspec.Struct):
    units: int
    tags: list[str] = []


class Asked:
    """A store that accepts everything and notes what it was asked."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    async def admit(self, workflow: str, id: str, payload: Any, **options: Any) -> Answer:  # noqa: A002
        self.items.append((workflow, id, payload, options))
        return Answer(Verdict.ACCEPTED)

    async def admit_many(self, items: Any, **options: Any) -> Any:
        self.items.extend(items)
        return [Answer(Verdict.ACCEPTED, cause=item.id) for item in items]

    async def ensure_schema(self, name: str, sql: str) -> bool:
        self.items.append(("schema", name, sql))
        return True

    async def register_many(self, manifests: Any) -> Any:
        self.items.append(("register", [manifest.digest for manifest in manifests]))
        return [Answer(Verdict.REGISTERED) for _ in manifests]

    async def switch(self, digest: str, expected_revision: int, **options: Any) -> Answer:
        self.items.append(("switch", digest, expected_revision))
        return Answer(Verdict.SWITCHED)


def points(payload: Any = None) -> App:
    app = App("points", abi="local-ledger/1", payload=payload)
    app.step(credit)
    return app


def test_a_manifest_of_tuples_has_the_digest_of_the_same_manifest_written_out() -> None:
    app = points()
    made = app.manifest([("base", credit, {"per_unit": 1}), ("bonus", credit, {"flat": 1})])
    written = manifest_from(
        {
            "name": "points",
            "abi": "local-ledger/1",
            "steps": [
                {"name": "base", "op": "credit", "params": {"per_unit": 1}},
                {"name": "bonus", "op": "credit", "params": {"flat": 1}},
            ],
        }
    )
    assert made.digest == written.digest


def test_a_step_takes_its_policy_as_durations_or_milliseconds() -> None:
    made = points().manifest(
        [step("bonus", credit, {"flat": 3}, lease="10s", time_limit="1h30m", base=250, ceiling="2d", on_lapse="hold")]
    )
    assert made.steps == (Step("bonus", "credit", {"flat": 3}, 3, 250, 172_800_000, 10_000, 5_400_000, OnLapse.HOLD),)


@pytest.mark.parametrize("lease", ["10", "ten", "-1s", "1s ", "", 1.5, True, "1e3s"])
def test_what_is_no_duration_is_refused_by_name(lease: Any) -> None:
    with pytest.raises(InvalidValue, match=r"step 'bonus'\.lease"):
        step("bonus", credit, lease=lease)


def test_a_workflows_only_manifest_is_current_and_of_several_the_marked_one() -> None:
    app = points()
    first = app.manifest([("base", credit)])
    assert app.current == {"points": first}
    second = app.manifest([("base", credit), ("bonus", credit)])
    assert app.current == {}
    other = app.manifest([("base", credit)], workflow="other")
    third = app.manifest([("bonus", credit)], current=True)
    assert app.current == {"points": third, "other": other}
    assert app.manifests == [first, second, other, third]


def test_two_current_manifests_of_one_workflow_are_refused() -> None:
    app = points()
    app.manifest([("base", credit)], current=True)
    with pytest.raises(InvalidValue, match="workflow 'points' has a current manifest already"):
        app.manifest([("bonus", credit)], current=True)


def test_a_manifest_that_stands_twice_is_declared_once() -> None:
    app = points()
    assert app.manifest([("base", credit)]).digest == app.manifest([("base", credit)]).digest
    assert len(app.manifests) == 1


def test_a_worker_refuses_a_manifest_whose_handler_is_missing_and_says_which() -> None:
    app = points()
    app.manifest([("base", "debit")])
    with pytest.raises(HandlerMismatch, match=r"manifest 'points' .*step 'base': app 'points' has no handler 'debit'"):
        worker(app)


def test_a_worker_refuses_parameters_that_a_handler_does_not_take() -> None:
    app = points()
    app.manifest([("base", credit, {"per_hour": 1})])
    with pytest.raises(HandlerMismatch, match=r"step 'base': handler 'credit' does not take the parameter 'per_hour'"):
        worker(app)


def test_a_worker_refuses_a_manifest_that_leaves_out_a_required_parameter() -> None:
    app = App("points", abi="local/1")

    @app.step
    def charge(ctx: Any, amount: int) -> int:
        return amount

    app.manifest([("base", charge)])
    with pytest.raises(HandlerMismatch, match="handler 'charge' requires the parameter 'amount'"):
        worker(app)


def test_every_fault_of_every_manifest_is_named_at_once() -> None:
    app = points()
    app.manifest([("base", "debit"), ("bonus", credit, {"a": 1})])
    app.manifest([("base", credit, {"ctx": 1})], workflow="other")
    with pytest.raises(HandlerMismatch) as caught:
        app.check()
    assert [line.split(":")[1].split()[0] for line in str(caught.value).splitlines()] == ["app", "handler", "handler"]


def test_a_handler_with_keywords_takes_every_parameter_but_its_context() -> None:
    app = App("points", abi="local/1")

    @app.step
    def free(ctx: Any, **params: Any) -> None: ...

    app.manifest([("base", free, {"anything": 1})])
    app.check()
    app.manifest([("base", free, {"ctx": 1})])
    with pytest.raises(HandlerMismatch, match="'ctx'"):
        app.check()


def test_a_function_that_is_no_handler_of_the_app_is_refused_by_name() -> None:
    with pytest.raises(HandlerMismatch, match=r"'credit' is no handler of app 'empty'; decorate it with @app\.step"):
        App("empty", abi="local/1").manifest([("base", credit)])


def test_a_handler_name_can_be_given_and_is_taken_once() -> None:
    app = App("points", abi="local/1")
    app.step(name="credit/2")(credit)
    assert app.manifest([("base", credit)]).steps[0].op == "credit/2"
    with pytest.raises(HandlerMismatch, match="has a handler 'credit/2' already"):
        app.step(name="credit/2")(credit)


def test_generators_and_handlers_without_a_context_are_refused() -> None:
    app = App("points", abi="local/1")

    async def ticks(ctx: Any) -> Any:
        yield 1

    def nothing() -> None: ...

    with pytest.raises(HandlerMismatch, match="'ticks' is a generator"):
        app.step(ticks)
    with pytest.raises(HandlerMismatch, match="'nothing' takes no context"):
        app.step(nothing)
    with pytest.raises(HandlerMismatch, match="a process runs plain `def` handlers"):
        app.step(process=True)(credit)


async def test_a_payload_that_does_not_fit_is_refused_by_place_and_the_store_is_not_asked() -> None:
    app, store = points(Points), Asked()
    with pytest.raises(InvalidValue, match=r"^payload\.units: Expected `int`, got `str`") as caught:
        await app.admit(store, "j1", {"units": "ten"})
    assert caught.value.place == "payload.units"
    with pytest.raises(InvalidValue, match=r"^payload\.tags\[1\]: Expected `str`"):
        await app.admit(store, "j1", {"units": 1, "tags": ["a", 2]})
    with pytest.raises(InvalidValue, match=r"^payload: .*missing required field `units`"):
        await app.admit(store, "j1", {})
    with pytest.raises(InvalidValue, match=r"^payload\.units: nan is not JSON"):
        await app.admit(store, "j1", {"units": float("nan")})
    assert store.items == []


async def test_a_payload_that_fits_is_admitted_as_plain_data_under_the_apps_workflow() -> None:
    app, store = points(Points), Asked()
    answer = await app.admit(store, "j1", Points(10), flow="f1", width=8)
    assert answer.verdict == "accepted"
    assert store.items == [("points", "j1", {"units": 10, "tags": []}, {"flow": "f1", "width": 8, "now": None})]


async def test_in_a_batch_the_item_that_does_not_fit_has_its_error_in_its_place() -> None:
    app, store = points(Points), Asked()
    items = [
        Admission("points", name, payload) for name, payload in [("a", {"units": 1}), ("b", 2), ("c", {"units": 3})]
    ]
    first, second, third = await app.admit_many(store, items)
    assert isinstance(first, Answer)
    assert first.cause == "a"
    assert isinstance(second, InvalidValue)
    assert isinstance(third, Answer)
    assert third.cause == "c"
    assert [item.id for item in store.items] == ["a", "c"]


async def test_each_workflow_can_have_its_own_payload() -> None:
    app, store = points({"points": Points}), Asked()
    await app.admit(store, "j1", "free", workflow="other")
    with pytest.raises(InvalidValue, match="payload"):
        await app.admit(store, "j2", "free")


async def test_preparing_a_store_makes_tables_registers_and_sets_a_route_where_there_is_none() -> None:
    app, store = points(), Asked()
    app.schema("ledger", "create table ledger (id text)")
    made = app.manifest([("base", credit)])
    await app.prepare(store)
    assert store.items == [
        ("schema", "ledger", "create table ledger (id text)"),
        ("register", [made.digest]),
        ("switch", made.digest, 0),
    ]


def test_a_schema_name_is_taken_once() -> None:
    app = points()
    app.schema("ledger", "create table a (id text)")
    with pytest.raises(InvalidValue, match="has a schema 'ledger' already"):
        app.schema("ledger", "create table b (id text)")


def test_a_manifest_that_exists_already_can_be_declared() -> None:
    app = points()
    given = Manifest("points", "local-ledger/1", (Step("base", "credit"),))
    assert app.declare(given) is given
    app.check()

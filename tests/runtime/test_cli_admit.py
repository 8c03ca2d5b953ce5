"""admit: one job, many jobs, what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.runtime.cli import V1, Cli


def test_a_job_is_accepted_then_replayed_then_in_conflict(cli: Cli) -> None:
    words = ("admit", "points", "a", "--flow", "F", "--payload")
    first, again, other = cli(*words, '{"n": 1}'), cli(*words, '{"n": 1.0}'), cli(*words, '{"n": 2}')
    assert (first.code, again.code, other.code) == (0, 0, 4)
    assert first.out == f"accepted a (flow F, number 1, definition {V1.digest[:12]}, ready)\n"
    assert again.out.startswith("replay a")
    assert other.out.startswith("conflict a")
    assert "a new job needs a new id" in other.err


def test_json_output_is_the_answer(cli: Cli) -> None:
    value = cli("admit", "points", "a", "--payload", "1", "-o", "json").json
    assert (value["id"], value["verdict"], value["record"]["seq"]) == ("a", "accepted", 1)
    assert cli("admit", "points", "a", "--payload", "1", "-o", "jsonl").lines[0]["verdict"] == "replay"


@pytest.mark.parametrize("payload", ["NaN", "{", '{"a":1,"a":2}', str(2**53), "[" * 100 + "]" * 100])
def test_a_payload_that_is_not_taken_ends_with_2_and_leaves_nothing(cli: Cli, payload: str) -> None:
    ran = cli("admit", "points", "a", "--payload", payload)
    assert ran.code == 2
    assert "payload" in ran.err
    assert cli("jobs", "list", "-o", "json").json == []


def test_a_workflow_without_a_route_ends_with_2_and_says_what_to_do(cli: Cli) -> None:
    ran = cli("admit", "nothing", "a", "--payload", "1")
    assert ran.code == 2
    assert "'nothing' has no route" in ran.err


def test_a_closed_door_and_a_full_store_end_with_5(cli: Cli) -> None:
    cli("admit", "points", "a", "--payload", "1")
    cli("limits", "set", "--capacity", "1", "--reason", "small")
    full = cli("admit", "points", "b", "--payload", "1")
    assert full.code == 5
    assert full.out.startswith("full b")
    cli("drain")
    closed = cli("admit", "points", "b", "--payload", "1")
    assert closed.code == 5
    assert closed.out.startswith("closed b")
    assert "send it again under the same id" in closed.err


def test_a_missing_file_is_made(empty: Cli) -> None:
    assert empty("admit", "points", "a", "--payload", "1").code == 2
    assert empty.db.exists()
    assert empty.db.stat().st_mode & 0o777 == 0o600


def test_many_lines_are_judged_one_by_one(cli: Cli, tmp_path: Path) -> None:
    lines = [
        {"id": "a", "payload": 1, "flow": "F"},
        {"id": "a", "payload": 1, "flow": "F"},
        {"id": "a", "payload": 2, "flow": "F"},
        {"id": "b", "payload": 1, "workflow": "nothing"},
        {"id": "c", "payload": 1, "width": 2, "flow": "G"},
        {"id": "d"},
        {"id": "", "payload": 1},
    ]
    path = tmp_path / "jobs.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n{broken\n\n")
    ran = cli("admit", "points", "--jsonl", str(path), "-o", "jsonl")
    words = [line.get("verdict", "error") for line in ran.lines]
    assert words == ["accepted", "replay", "conflict", "error", "accepted", "error", "error", "error"]
    assert ran.code == 4
    assert "2 accepted" in ran.err
    assert len(cli("admit", "points", "--jsonl", str(path), "-o", "json").json) == 8


def test_lines_come_from_stdin_too(cli: Cli) -> None:
    lines = "".join(f'{{"id": "j{number}", "payload": {number}}}\n' for number in range(2500))
    words = [sys.executable, "-m", "runtime", "admit", "points", "--jsonl", "-", "--db", str(cli.db)]
    ran = subprocess.run(words, input=lines, capture_output=True, text=True, check=True)
    assert ran.stdout == ""
    assert ran.stderr.strip() == "2500 accepted"


def test_a_payload_comes_from_stdin_too(cli: Cli) -> None:
    words = [sys.executable, "-m", "runtime", "admit", "points", "a", "--payload", "-", "--db", str(cli.db)]
    subprocess.run(words, input='{"n": 1}', capture_output=True, text=True, check=True)
    assert cli("jobs", "show", "a", "-o", "json").json["payload"] == {"n": 1}


def test_an_app_checks_the_payload_before_the_store_is_asked(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "import msgspec\nfrom workers import App\nclass P(msgspec.Struct):\n    units: int\n"
        "app = App('points', abi='local/1', payload=P)\n"
    )
    (tmp_path / "checked_app.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    wrong = cli("admit", "points", "a", "--payload", '{"units": "ten"}', "--app", "checked_app:app")
    assert wrong.code == 2
    assert "payload.units" in wrong.err
    assert cli("admit", "points", "a", "--payload", '{"units": 10}', "--app", "checked_app").code == 0
    missing = cli("admit", "points", "a", "--payload", "1", "--app", "no_such_module:app")
    assert missing.code == 2
    assert "no_such_module" in missing.err


FIRST = """
from workers import App
app = App("orders", abi="shop/1")
app.schema("paid", "create table paid (id text primary key)")
@app.step
async def charge(ctx): ctx.execute("insert into paid values (?)", (ctx.id,))
app.manifest([("charge", charge)])
"""


def test_an_app_is_made_ready_by_the_first_admission(
    empty: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first_app.py").write_text(FIRST)
    (tmp_path / "jobs.jsonl").write_text('{"id": "c", "payload": 1}\n{"id": "d", "payload": 1, "workflow": "other"}\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    assert empty("admit", "orders", "a", "--payload", "1", "--app", "first_app").out.startswith("accepted a")
    assert empty("admit", "orders", "b", "--payload", "1", "--app", "first_app:app").out.startswith("accepted b")
    other = empty("admit", "shop", "b", "--payload", "1", "--app", "first_app:app")
    assert other.code == 2
    assert "no workflow 'shop'; it has orders" in other.err
    many = empty("admit", "orders", "--jsonl", str(tmp_path / "jobs.jsonl"), "--app", "first_app", "-o", "jsonl")
    assert [line.get("verdict", "error") for line in many.lines] == ["accepted", "error"]


def test_what_is_wrong_comes_with_what_to_do(empty: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bare_app.py").write_text("from workers import App\napp = App('bare', abi='b/1')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "app.manifest([" in empty("work", "bare_app:app").err
    assert "`work MODULE:APP` sets the first one" in empty("admit", "bare", "a", "--payload", "1").err
    assert """--payload '{"n": 1}'""" in empty("admit", "bare", "a", "--payload", "{n: 1}").err
    empty.db.chmod(0o666)
    assert "chmod go-w" in empty("status").err


def test_an_app_of_another_route_changes_none(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FIRST.replace('"orders"', '"points"')
    (tmp_path / "late_app.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    ran = cli("admit", "points", "a", "--payload", "1", "--app", "late_app:app")
    assert f"definition {V1.digest[:12]}" in ran.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "there is no module 'broken_app'"),
        ("import nowhere_to_be_found", "it imports 'nowhere_to_be_found'"),
        ("x = ", "SyntaxError"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("other = 1", "it makes none"),
        (FIRST.replace("app = App(", "mine = app = App(") + "del app", "it has mine"),
        (FIRST.replace("async def charge(ctx)", "async def charge(ctx, *, needed)"), "requires the parameter 'needed'"),
    ],
)
def test_a_bad_app_is_one_line_and_no_file(
    empty: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, says: str
) -> None:
    if text is not None:
        (tmp_path / "broken_app.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "broken_app", raising=False)
    ran = empty("admit", "orders", "a", "--payload", "1", "--app", "broken_app:app")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert says in ran.err
    assert not empty.db.exists()


def test_what_belongs_together_is_asked_for_together(cli: Cli) -> None:
    assert cli("admit", "points").code == 2
    assert cli("admit", "points", "a", "--jsonl", "x").code == 2
    ran = cli("admit", "points", "--jsonl", "no-such-file")
    assert ran.code == 2
    assert "no-such-file" in ran.err


def test_text_outside_ascii_goes_through_and_control_characters_are_shown(cli: Cli) -> None:
    names = ["e\u0301", "\u00e9", "👩‍👩‍👧", "سلام", "\x1b[31mred"]

    async def admit(store: Store) -> None:
        await store.admit_many([Admission("points", name, name) for name in names])

    cli.store(admit)
    listed = cli("jobs", "list")
    assert listed.code == 0
    assert "\x1b" not in listed.out
    assert "\\x1b[31mred" in listed.out
    assert [job["id"] for job in cli("jobs", "list", "-o", "json").json] == names

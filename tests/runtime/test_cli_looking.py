"""status, jobs, why, flows, limits, definitions, doctor: what they print and as what."""

from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.runtime.cli import V1, V2, W1, Cli


async def busy(store: Store) -> None:
    """One job in flight, one backing off, one quarantined, one behind it, one done."""
    await store.admit_many(
        [
            Admission("points", name, {"of": name}, flow)
            for name, flow in (("run", "A"), ("late", "B"), ("bad", "C"), ("next", "C"))
        ]
    )
    claims = {claim.token.job: claim for claim in (await store.claim(3, W1)).claims}
    await store.fail(claims["late"].token, "bank is closed", worker="W1")
    await store.quarantine(claims["bad"].token, "no such account\nsecond line", worker="W1")


def test_status_is_frozen_as_format_1(cli: Cli) -> None:
    cli.store(busy)
    value = cli("status", "-o", "json").json
    assert list(value)[:6] == ["format", "taken_at", "mode", "version", "jobs", "file_bytes"]
    assert value["jobs"] == {"ready": 1, "waiting": 1, "inflight": 1, "quarantined": 1, "done": 0}
    assert [flight["job"] for flight in value["inflight"]] == ["run"]


def test_status_as_text_says_what_matters(cli: Cli) -> None:
    cli.store(busy)
    out = cli("status").out
    assert "open (version 0)  4 unfinished" in out
    assert "none live" in out
    assert "W1 (gone)" in out
    assert "no such account…" in out
    assert max(len(line) for line in out.splitlines()) < 200


def test_a_live_page_asks_for_a_terminal(cli: Cli) -> None:
    ran = cli("status", "--watch")
    assert ran.code == 2
    assert "-o jsonl" in ran.err


def test_jobs_are_listed_with_filters_and_by_pages(cli: Cli) -> None:
    cli.store(busy)
    assert [job["id"] for job in cli("jobs", "list", "-o", "jsonl").lines] == ["run", "late", "bad", "next"]
    assert [job["id"] for job in cli("jobs", "list", "--state", "waiting", "-o", "json").json] == ["late"]
    assert [job["id"] for job in cli("jobs", "list", "--flow", "C", "-o", "json").json] == ["bad", "next"]
    assert cli("jobs", "list", "--definition", V2.digest[:8], "-o", "json").json == []
    first = cli("jobs", "list", "--limit", "2")
    assert "--after late" in first.err
    assert [job["id"] for job in cli("jobs", "list", "--after", "late", "-o", "json").json] == ["bad", "next"]


def test_a_jobs_whole_life_is_shown(cli: Cli) -> None:
    cli.store(busy)
    cli("redrive", "bad", "--reason", "account opened", "--as", "anna")
    shown = cli("jobs", "show", "bad")
    for word in ("accepted", "quarantined", "no such account", "redrive", "by anna: account opened", "why:", "next:"):
        assert word in shown.out
    value = cli("jobs", "show", "bad", "-o", "json").json
    assert [event["what"] for event in value["events"]] == ["accepted", "quarantined", "redrive"]
    assert (value["payload"], value["job"]["generation"]) == ({"of": "bad"}, 2)


def test_what_does_not_exist_ends_with_5_and_says_where_to_look(cli: Cli) -> None:
    for words, hint in (
        (("jobs", "show", "nobody"), "jobs list"),
        (("why", "job", "nobody"), "jobs list"),
        (("why", "flow", "nowhere"), "flows list"),
    ):
        ran = cli(*words)
        assert ran.code == 5
        assert hint in ran.err


def test_why_explains_a_job_a_flow_a_drain_and_a_definition(cli: Cli) -> None:
    cli.store(busy)
    assert "backing off since" in cli("why", "job", "late").out
    assert "because: bank is closed" in cli("why", "job", "late").out
    assert "its first unfinished job bad is quarantined" in cli("why", "flow", "C").out
    drain = cli("why", "drain", "-o", "json").json
    assert sum(cause["jobs"] for cause in drain["causes"]) == drain["unfinished"] == 4
    assert {item["job"]["job"] for item in drain["jobs"]} == {"run", "late", "bad", "next"}
    assert "no live worker declares it" in cli("why", "definition", V1.digest[:6]).out


def test_definitions_are_listed_and_covered_or_not(cli: Cli) -> None:
    listed = cli("definitions", "list", "-o", "json").json
    assert [(item["digest"], item["revision"], item["steps"]) for item in listed] == [
        (V1.digest, 1, ["base", "bonus"]),
        (V2.digest, None, ["bonus"]),
    ]
    assert cli("definitions", "coverage").code == 0
    cli("admit", "points", "a", "--payload", "1")
    uncovered = cli("definitions", "coverage")
    assert uncovered.code == 5
    assert "no live worker declares it" in uncovered.err


def test_flows_and_limits_are_shown_and_set(cli: Cli) -> None:
    cli("admit", "points", "a", "--payload", "1", "--flow", "F")
    assert cli("flows", "set", "F", "--width", "3", "--reason", "bulk").code == 0
    assert [flow["width"] for flow in cli("flows", "list", "-o", "json").json] == [3]
    assert cli("flows", "set", "F", "--ordered", "--reason", "order").code == 0
    assert cli("flows", "set", "nowhere", "--width", "3", "--reason", "bulk").code == 5
    assert cli("flows", "set", "F", "--reason", "bulk").code == 2
    assert cli("limits", "set", "--capacity", "7", "--newcomers", "first", "--reason", "small").code == 0
    assert cli("limits", "show", "-o", "json").json == {"capacity": 7, "flow_capacity": None, "newcomers": "first"}
    assert cli("limits", "set", "--capacity", "none", "--reason", "large").code == 0
    assert cli("limits", "show", "-o", "json").json["capacity"] is None
    assert cli("limits", "set", "--capacity", "many", "--reason", "x").code == 2
    assert cli("limits", "set", "--capacity", "7").code == 2


def test_doctor_finds_a_fault_and_ends_with_1(cli: Cli) -> None:
    sound = cli("doctor")
    assert sound.code == 0
    assert "no fault found" in sound.err
    cli.db.chmod(0o644)
    findings = {item["check"]: item["level"] for item in cli("doctor", "-o", "json").json}
    assert findings["mode"] == "warning"


def test_db_init_makes_a_file_and_leaves_one_that_exists(empty: Cli) -> None:
    made = empty("db", "init", "--clock", "logical")
    assert made.code == 0
    assert made.out.strip() == str(empty.db.resolve())
    again = empty("db", "init")
    assert again.code == 0
    assert "its clock is logical" in again.err

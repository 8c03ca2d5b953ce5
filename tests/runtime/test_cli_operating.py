"""drain, pause, resume, redrive, recover, quarantine, definitions register, switch and migrate."""

import json
from pathlib import Path

import pytest
from msgspec import to_builtins

from runtime.protocol.records import Admission
from runtime.store.store import Store
from tests.runtime.cli import V1, V2, W1, Cli


def admit(cli: Cli, *jobs: str) -> None:
    """Some jobs."""

    async def do(store: Store) -> None:
        await store.admit_many([Admission("points", job, 1) for job in jobs])

    cli.store(do)


def claim(cli: Cli, limit: int = 1) -> None:
    """Some claims of a worker that then is gone."""

    async def do(store: Store) -> None:
        await store.claim(limit, W1)

    cli.store(do)


def test_an_idle_store_is_drained_at_once_and_opened_again(cli: Cli) -> None:
    drained = cli("drain", "-o", "json")
    assert (drained.code, drained.json["mode"], drained.json["version"]) == (0, "paused", 2)
    assert "open at version 0" in drained.err
    assert cli("drain", "--wait").code == 0
    assert cli("resume").out == "open (version 3)\n"


def test_a_drain_that_has_work_stays_draining_and_names_it(cli: Cli) -> None:
    admit(cli, "a")
    drained = cli("drain")
    assert drained.code == 0
    assert "draining at version 1" in drained.out
    assert "a: ready since" in drained.err
    busy = cli("pause")
    assert busy.code == 3
    assert "a: ready since" in busy.err


def test_waiting_ends_with_3_at_its_deadline_still_draining(cli: Cli) -> None:
    admit(cli, "a")
    ended = cli("drain", "--wait", "--timeout", "50ms")
    assert ended.code == 3
    assert "still draining at its deadline: 1 unfinished" in ended.out
    assert "1 undeclared" in ended.err
    assert cli("status", "-o", "json").json["mode"] == "draining"
    assert cli("drain", "--wait", "--timeout", "50ms").code == 3


def test_a_version_that_has_passed_is_stale_and_a_wrong_mode_is_refused(cli: Cli) -> None:
    assert cli("pause").code == 5
    assert cli("resume").code == 5
    assert cli("drain", "--no-pause", "--if-version", "0").code == 0
    assert cli("status", "-o", "json").json["mode"] == "draining"
    assert cli("resume", "--if-version", "0").code == 4
    assert cli("drain").code == 5
    assert cli("pause", "--if-version", "1").code == 0


def test_a_command_id_answers_the_first_outcome_again(cli: Cli) -> None:
    first = cli("resume", "--command-id", "c0")
    assert first.code == 5
    words = ("drain", "--no-pause", "--if-version", "0", "--command-id", "c1", "--as", "anna")
    assert cli(*words).out == cli(*words).out
    assert cli("resume", "--if-version", "1", "--command-id", "c1").code == 4


def test_timeout_goes_with_wait(cli: Cli) -> None:
    assert cli("drain", "--timeout", "1s").code == 2


def test_quarantine_then_redrive_of_one(cli: Cli) -> None:
    admit(cli, "a")
    assert cli("quarantine", "a", "--reason", "look").code == 0
    assert cli("quarantine", "a", "--reason", "look").code == 5
    assert cli("redrive", "a", "--if-generation", "0", "--reason", "ok").code == 4
    done = cli("redrive", "a", "--reason", "ok", "-o", "json")
    assert (done.code, done.json[0]["verdict"]) == (0, "redriven")
    assert cli("redrive", "a", "nobody", "--reason", "ok").code == 5


@pytest.mark.parametrize("reason", [[], ["--reason", ""], ["--reason", "  "]])
def test_an_operation_without_a_reason_is_refused(cli: Cli, reason: list[str]) -> None:
    admit(cli, "a")
    ran = cli("quarantine", "a", *reason)
    assert ran.code == 2
    assert "--reason is expected" in ran.err


def test_all_with_a_limit_and_a_dry_run(cli: Cli) -> None:
    admit(cli, *"abcde")
    cli("quarantine", *"abcd", "--reason", "look")
    dry = cli("redrive", "--all", "--dry-run", "-o", "json")
    assert dry.code == 0
    assert [(item["job"], item["verdict"], item["dry"]) for item in dry.json] == [
        (job, "redriven", True) for job in "abcd"
    ]
    assert cli("status", "-o", "json").json["jobs"]["quarantined"] == 4
    assert "2 redriven" in cli("redrive", "--all", "--limit", "2", "--reason", "ok").err
    assert "2 redriven" in cli("redrive", "--all", "--reason", "ok").err
    assert "no job that redrive is for" in cli("redrive", "--all", "--reason", "ok").err


def test_what_is_meant_must_be_said(cli: Cli) -> None:
    assert cli("redrive", "--reason", "ok").code == 2
    assert cli("redrive", "a", "--all", "--reason", "ok").code == 2
    assert cli("redrive", "a", "b", "--if-generation", "1", "--reason", "ok").code == 2
    assert cli("redrive", "a", "--limit", "1", "--reason", "ok").code == 2
    assert cli("quarantine", "--all", "--reason", "ok").code == 2


def test_recover_wants_live_while_the_lease_is_live(cli: Cli) -> None:
    admit(cli, "a", "b")
    claim(cli, 2)
    careful = cli("recover", "a", "--reason", "gone")
    assert careful.code == 5
    assert "--live takes it" in careful.out
    assert cli("recover", "a", "--live", "--reason", "gone").code == 0
    assert (
        cli("recover", "--all", "--live", "--reason", "gone", "--to", V2.digest[:8], "-o", "json").json[0]["verdict"]
        == "recovered"
    )
    assert cli("jobs", "show", "b", "-o", "json").json["job"]["current_digest"] == V2.digest


def test_migrate_of_one_and_of_all(cli: Cli) -> None:
    admit(cli, *"abc")
    assert cli("definitions", "migrate", "a", "--to", V2.digest[:8], "--if-binding", "1", "--reason", "fix").code == 4
    assert cli("definitions", "migrate", "a", "--to", V2.digest[:8], "--reason", "fix").code == 0
    words = ("definitions", "migrate", "--all-of", V1.digest[:8], "--to", V2.digest[:8])
    assert [item["job"] for item in cli(*words, "--dry-run", "-o", "json").json] == ["b", "c"]
    assert cli(*words, "--reason", "fix").code == 0
    assert {job["current_digest"] for job in cli("jobs", "list", "-o", "json").json} == {V2.digest}
    assert cli("definitions", "migrate", "a", "--to", "ffff", "--reason", "fix").code == 2


def test_migrate_of_a_quarantined_job_names_the_act_that_moves_it(cli: Cli) -> None:
    admit(cli, "a")
    cli("quarantine", "a", "--reason", "look")
    for last in (("--reason", "fix"), ("--dry-run",)):
        ran = cli("definitions", "migrate", "a", "--to", V2.digest[:8], *last)
        assert ran.code == 5
        assert "`redrive JOB --to DIGEST" in ran.err
    assert cli("redrive", "a", "--to", V2.digest[:8], "--reason", "fix").code == 0


def test_register_takes_a_manifest_and_refuses_what_is_none(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(to_builtins(V1)))
    assert cli("definitions", "register", str(path)).out.startswith(f"known {V1.digest}")
    path.write_text('{"name": "points", "abi": "x", "steps": [], "color": "red"}')
    wrong = cli("definitions", "register", str(path))
    assert wrong.code == 2
    assert "manifest.color" in wrong.err
    assert cli("definitions", "register", str(tmp_path / "missing.json")).code == 2


def test_switch_warns_without_coverage_and_refuses_when_asked_to(cli: Cli) -> None:
    refused = cli("definitions", "switch", V2.digest[:8], "--require-coverage")
    assert refused.code == 5
    assert "nothing was switched" in refused.err
    warned = cli("definitions", "switch", V2.digest[:8], "-o", "json")
    assert (warned.code, warned.json["revision"]) == (0, 2)
    assert "warning: no live worker declares" in warned.err
    assert cli("definitions", "switch", V1.digest[:8], "--if-revision", "1").code == 4

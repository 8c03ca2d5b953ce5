"""The 27 crash points of the three documents: a child ends at the point, a fresh connection reads what it left."""

from pathlib import Path
from typing import Any

import pytest

from demos.scenarios import crash_barrier, crash_relay, crash_versions
from demos.scenarios.stage import Seen, points
from runtime.protocol.verdicts import OnLapse
from tests.crash.invariants import check, check_inbox

BOTH = pytest.mark.parametrize("policy", list(OnLapse))
HOLD = OnLapse.HOLD
WORDS = ("ready", "waiting", "inflight", "inflight", "quarantined", "done")


class Left:
    """A photograph of both files, by table."""

    def __init__(self, photo: dict[str, Any]) -> None:
        self.queue = photo["queue"]
        self.receiver = photo.get("receiver", {})

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A table's rows."""
        return list(self.queue[table])

    def job(self, *fields: str) -> list[Any]:
        """These fields of the one job, as a `JobRecord` names them."""
        (row,) = self.rows("job")
        digests = {definition["id"]: definition["digest"] for definition in self.rows("definition")}
        known = {
            **row,
            "id": row["key"],
            "state": WORDS[row["state"]],
            "binding_revision": row["binding"],
            "lifetime_attempts": row["lifetime"],
            "current_digest": digests[row["definition"]],
        }
        return [known[field] for field in fields]

    def barrier(self) -> tuple[str, int]:
        """Mode and version."""
        (row,) = self.rows("control")
        return row["mode"], row["version"]

    def ticket(self) -> int:
        """The global ticket."""
        (ticket,) = [row["n"] for row in self.rows("tally") if (row["definition"], row["state"]) == (0, 6)]
        return int(ticket)


def judged(seen: Seen, folder: Path) -> tuple[Left, list[Any], Left]:
    """The child ended at its point and the file is whole: what was left, what was answered then, the end."""
    assert seen["exit"] == 73
    assert check(folder / "queue.db") == []
    if (folder / "receiver.db").exists():
        assert check_inbox(folder / "receiver.db") == []
    return Left(seen["left"]), seen["then"], Left(seen["end"])


async def test_rc1_admission_before_commit(tmp_path: Path) -> None:
    left, then, end = judged(await crash_relay.rc1(tmp_path), tmp_path)
    assert left.rows("job") == left.rows("flow") == []
    assert then == ["accepted"]
    assert end.job("seq", "generation") == [1, 0]


async def test_rc2_claim_committed_before_sending(tmp_path: Path) -> None:
    seen = await crash_relay.rc2(tmp_path)
    left, then, end = judged(seen, tmp_path)
    assert left.job("state", "attempts") == ["inflight", 1]
    assert left.ticket() == 1
    assert left.receiver["inbox_receipt"] == []
    assert seen["too early"] == 0
    assert then == ["accepted", "done"]
    assert end.job("generation", "lifetime_attempts") == [2, 2]
    assert seen["totals"] == {"a": 10}


async def test_rc3_receipt_and_effect_written_before_the_inbox_commits(tmp_path: Path) -> None:
    seen = await crash_relay.rc3(tmp_path)
    left, then, _ = judged(seen, tmp_path)
    assert left.receiver["inbox_receipt"] == left.receiver["inbox_flow"] == []
    assert left.job("state") == ["inflight"]
    assert then == ["accepted", "done"]
    assert seen["totals"] == {"a": 10}


async def test_rc4_inbox_committed_before_the_jobs_commit(tmp_path: Path) -> None:
    seen = await crash_relay.rc4(tmp_path)
    left, then, end = judged(seen, tmp_path)
    assert [row["event_id"] for row in left.receiver["inbox_receipt"]] == ["a1"]
    assert left.receiver["inbox_flow"] == [{"flow": "a", "next_seq": 2, "total": 10}]
    assert left.job("state", "cursor") == ["inflight", 0]
    assert then == ["duplicate", "done"]
    assert seen["totals"] == {"a": 10}
    assert len(end.rows("effect")) == 1


async def test_rc5_the_jobs_effect_written_before_its_commit(tmp_path: Path) -> None:
    seen = await crash_relay.rc5(tmp_path)
    left, then, end = judged(seen, tmp_path)
    assert left.rows("effect") == []
    assert left.job("state", "cursor") == ["inflight", 0]
    assert then == ["duplicate", "done"]
    assert len(end.rows("effect")) == 1
    assert seen["totals"] == {"a": 10}


async def test_rc6_redrive_before_commit(tmp_path: Path) -> None:
    seen = await crash_relay.rc6(tmp_path)
    left, then, end = judged(seen, tmp_path)
    assert seen["left"] == seen["before"]
    assert left.job("state", "generation", "reason") == ["quarantined", 1, "receiver broken"]
    assert then == ["redriven"]
    assert end.job("state", "generation", "reason") == ["ready", 2, None]
    assert [row["verb"] for row in end.rows("audit")].count("redrive") == 1


async def test_dc1_admission_before_commit(tmp_path: Path) -> None:
    seen = await crash_barrier.dc1(tmp_path)
    left, then, end = judged(seen, tmp_path)
    assert left.rows("job") == []
    assert then == ["accepted"]
    assert seen["drained meanwhile"] == ["draining", "closed"]
    assert end.job("id") == ["a"]


async def test_dc2_admission_after_commit(tmp_path: Path) -> None:
    left, then, end = judged(await crash_barrier.dc2(tmp_path), tmp_path)
    assert left.job("id", "state") == ["a", "ready"]
    assert then == ["replay", "draining", "replay", "paused", "replay"]
    assert end.job("id", "state") == ["a", "done"]


async def test_dc3_drain_before_commit(tmp_path: Path) -> None:
    left, then, end = judged(await crash_barrier.dc3(tmp_path), tmp_path)
    assert left.barrier() == ("open", 0)
    assert then == ["draining"]
    assert end.barrier() == ("draining", 1)


async def test_dc4_drain_after_commit(tmp_path: Path) -> None:
    left, then, end = judged(await crash_barrier.dc4(tmp_path), tmp_path)
    assert left.barrier() == end.barrier() == ("draining", 1)
    assert then == ["stale", "closed"]


async def test_dc5_commit_with_the_effect_written_and_the_state_not_yet(tmp_path: Path) -> None:
    left, then, end = judged(await crash_barrier.dc5(tmp_path), tmp_path)
    assert left.rows("effect") == []
    assert left.job("state") == ["inflight"]
    assert then == ["busy", "done", "paused"]
    assert len(end.rows("effect")) == 1


async def test_dc6_commit_with_both_written_before_commit(tmp_path: Path) -> None:
    left, then, end = judged(await crash_barrier.dc6(tmp_path), tmp_path)
    assert left.rows("effect") == []
    assert left.job("state", "cursor") == ["inflight", 0]
    assert then == ["busy", "done", "paused"]
    assert len(end.rows("effect")) == 1


async def test_dc7_commit_after_commit(tmp_path: Path) -> None:
    left, then, end = judged(await crash_barrier.dc7(tmp_path), tmp_path)
    assert len(left.rows("effect")) == len(end.rows("effect")) == 1
    assert left.job("state") == ["done"]
    assert then == ["stale", "paused"]


async def test_dc8_pause_before_commit(tmp_path: Path) -> None:
    left, then, end = judged(await crash_barrier.dc8(tmp_path), tmp_path)
    assert left.barrier() == ("draining", 1)
    assert then == ["paused"]
    assert end.barrier() == ("paused", 2)


async def test_dc9_pause_after_commit(tmp_path: Path) -> None:
    left, then, end = judged(await crash_barrier.dc9(tmp_path), tmp_path)
    assert left.barrier() == end.barrier() == ("paused", 2)
    assert then == ["stale", "paused", 0, "closed"]


@BOTH
async def test_vc1_admission_before_commit(policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.vc1(tmp_path, policy)
    left, then, _ = judged(seen, tmp_path)
    assert left.rows("job") == []
    assert then == ["switched", "accepted"]
    assert seen["total"] == 13


@BOTH
async def test_vc2_admission_after_commit(policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.vc2(tmp_path, policy)
    left, then, end = judged(seen, tmp_path)
    assert left.job("current_digest") == end.job("current_digest") == [points(policy)[0].digest]
    assert then == ["switched", "replay"]
    assert seen["total"] == 11


@BOTH
async def test_vc3_claim_before_commit(policy: OnLapse, tmp_path: Path) -> None:
    left, then, _ = judged(await crash_versions.vc3(tmp_path, policy), tmp_path)
    assert left.job("state", "generation", "attempts") == ["ready", 0, 0]
    assert left.ticket() == 0
    assert then == [1]


@BOTH
async def test_vc4_claim_after_commit(policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.vc4(tmp_path, policy)
    left, then, end = judged(seen, tmp_path)
    assert left.job("state", "generation") == ["inflight", 1]
    unchecked = ["recovered", "refused", "migrated"] if policy is HOLD else ["migrated", "stale"]
    assert then == ["refused", *unchecked]
    assert seen["total"] == 13
    (moved,) = [row for row in end.rows("audit") if row["verb"] == "migrate"]
    assert moved["reason"] == "agreed"


@BOTH
@pytest.mark.parametrize("point", ["VC5", "VC6"])
async def test_vc5_vc6_step_0_before_commit(point: str, policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.STEPS[point](tmp_path, policy)
    left, then, end = judged(seen, tmp_path)
    assert left.rows("effect") == []
    assert left.job("state", "cursor") == ["inflight", 0]
    assert then == [*(["recovered"] if policy is HOLD else []), "stale", "advanced"]
    assert len(end.rows("effect")) == 2
    assert seen["total"] == 11


@BOTH
async def test_vc7_step_0_after_commit(policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.vc7(tmp_path, policy)
    left, then, end = judged(seen, tmp_path)
    assert left.job("state", "cursor") == ["ready", 1]
    assert len(left.rows("effect")) == 1
    assert then == ["stale", "switched"]
    assert seen["run"] == ["done"]
    assert len(end.rows("effect")) == 2
    assert seen["total"] == 11


@BOTH
async def test_vc8_switch_before_commit(policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.vc8(tmp_path, policy)
    left, then, _ = judged(seen, tmp_path)
    assert seen["left"] == seen["before"]
    assert [row["revision"] for row in left.rows("route")] == [1]
    assert then == ["switched"]


@BOTH
async def test_vc9_switch_after_commit(policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.vc9(tmp_path, policy)
    left, then, _ = judged(seen, tmp_path)
    assert [row["revision"] for row in left.rows("route")] == [2]
    assert left.rows("job") == Left(seen["before"]).rows("job")
    assert then == ["stale"]
    assert seen["total"] == 11


@BOTH
@pytest.mark.parametrize("point", ["VC10", "VC11"])
async def test_vc10_vc11_migrate_before_commit(point: str, policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.ITEMS[point](tmp_path, policy)
    left, then, end = judged(seen, tmp_path)
    assert seen["left"] == seen["before"]
    assert left.job("binding_revision", "current_digest") == [0, points(policy)[0].digest]
    assert then == ["migrated"]
    assert end.job("binding_revision") == [1]
    assert seen["total"] == 13


@BOTH
async def test_vc12_migrate_after_commit(policy: OnLapse, tmp_path: Path) -> None:
    seen = await crash_versions.vc12(tmp_path, policy)
    left, then, _ = judged(seen, tmp_path)
    assert left.job("binding_revision", "current_digest") == [1, points(policy)[1].digest]
    assert [row["verb"] for row in left.rows("audit")].count("migrate") == 1
    assert then == ["stale"]
    assert seen["total"] == 13

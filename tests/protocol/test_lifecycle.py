"""The table of legal moves and the judgements, against table T written out (contract §5 to §8)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.protocol.lifecycle import (
    MOVES,
    STATES,
    Definition,
    Facts,
    Phase,
    Policy,
    judge,
    judge_migrate,
    judge_quarantine,
    judge_recover,
    judge_redrive,
    occupies,
)
from runtime.protocol.records import Token

POLICY = Policy("s", 3, 2, 8, 5, 1_000, False)
SOURCE = Definition(1, "1" * 64, "points", (POLICY,))
HELD = Definition(1, "1" * 64, "points", (Policy("s", 3, 2, 8, 5, 1_000, True),))
TARGET = Definition(2, "2" * 64, "points", (POLICY,))
FOREIGN = Definition(3, "3" * 64, "elsewhere", (POLICY,))


def facts(phase: Phase, *, lease: int | None = None, cursor: int = 0, lifetime: int = 0) -> Facts:
    return Facts(1, "j", 1, 1, 1, 4, phase, cursor, 7, 1, lifetime, None, lease, None, None, None, 0, False)


TOKEN = Token("j", 4, 7, 0, SOURCE.digest)


def test_no_move_stands_twice_and_none_leaves_done() -> None:
    assert len(set(MOVES)) == len(MOVES)
    assert all(origin != Phase.DONE for origin, _, _ in MOVES)


def test_every_phase_is_reached_and_has_its_public_word() -> None:
    assert {target for _, _, target in MOVES} == set(Phase)
    assert set(STATES) == set(Phase)


def test_only_a_commit_makes_a_job_done() -> None:
    assert {verb for _, verb, target in MOVES if target == Phase.DONE} == {"commit_step"}


def test_only_a_claim_puts_a_job_in_flight() -> None:
    assert {verb for _, verb, target in MOVES if target in (Phase.INFLIGHT, Phase.HELD)} == {"claim"}


def test_the_clock_never_moves_a_held_job() -> None:
    assert not [move for move in MOVES if move[:2] == (Phase.HELD, "sweep")]


@pytest.mark.parametrize(
    ("phase", "lease", "now", "word"),
    [
        pytest.param(Phase.READY, None, 9, "stale", id="ready"),
        pytest.param(Phase.READY, 5, 9, "expired", id="swept"),
        pytest.param(Phase.WAITING, None, 9, "stale", id="backing-off"),
        pytest.param(Phase.INFLIGHT, 5, 5, None, id="s1-live-to-the-last-tick"),
        pytest.param(Phase.INFLIGHT, 5, 6, "expired", id="s1-lapsed-one-tick-later"),
        pytest.param(Phase.HELD, 5, 6, None, id="hold-never-lapses-for-its-worker"),
        pytest.param(Phase.QUARANTINED, None, 9, "stale", id="quarantined"),
        pytest.param(Phase.QUARANTINED, 5, 9, "expired", id="swept-and-spent"),
        pytest.param(Phase.DONE, None, 9, "stale", id="done"),
    ],
)
def test_s4_a_token_that_matches(phase: Phase, lease: int | None, now: int, word: str | None) -> None:
    assert judge(facts(phase, lease=lease), TOKEN, 1, now) == word


@given(
    phase=st.sampled_from(Phase),
    lease=st.integers(0, 20),
    now=st.integers(0, 40),
    parts=st.tuples(st.integers(3, 5), st.integers(6, 8), st.integers(0, 1), st.sampled_from((1, 2, None))),
)
def test_v12_s4_any_other_token_is_stale_before_anything_is_said_of_its_lease(
    phase: Phase, lease: int, now: int, parts: tuple[int, int, int, int | None]
) -> None:
    binding, generation, cursor, definition = parts
    token = Token("j", binding, generation, cursor, SOURCE.digest)
    verdict = judge(facts(phase, lease=lease), token, definition, now)
    if parts != (4, 7, 0, 1):
        assert verdict == "stale"
    else:
        assert verdict != "stale"


@pytest.mark.parametrize("phase", Phase)
def test_t_what_a_person_may_do_to_a_job(phase: Phase) -> None:
    job = facts(phase, lease=5)
    ready, inflight = phase in (Phase.READY, Phase.WAITING), phase in (Phase.INFLIGHT, Phase.HELD)
    assert judge_redrive(job, 7)[0] == ("redriven" if phase == Phase.QUARANTINED else "refused")
    assert judge_recover(job, 7)[0] == ("recovered" if inflight else "refused")
    assert judge_quarantine(job, 7)[0] == ("quarantined" if ready or inflight else "refused")
    assert judge_migrate(job, SOURCE, TARGET, effects_checked=False)[0] == ("migrated" if ready else "refused")
    for judged in (judge_redrive(job, 6), judge_recover(job, 8), judge_quarantine(job, 6)):
        assert judged[0] == "stale"
        assert judged[1]


def test_v16_what_a_migration_needs() -> None:
    new = facts(Phase.READY)
    assert judge_migrate(new, SOURCE, TARGET, effects_checked=False)[0] == "migrated"
    for target, job in itertools.chain(
        ((None, new), (FOREIGN, new), (SOURCE, new)), ((TARGET, facts(Phase.READY, cursor=1)),)
    ):
        verdict, cause = judge_migrate(job, SOURCE, target, effects_checked=True, as_ready=True)
        assert verdict == "refused"
        assert cause


@pytest.mark.parametrize(
    ("source", "lifetime", "checked", "word"),
    [
        pytest.param(HELD, 0, False, "migrated", id="never-claimed"),
        pytest.param(HELD, 1, False, "refused", id="claimed-under-hold"),
        pytest.param(HELD, 1, True, "migrated", id="claimed-under-hold-and-checked"),
        pytest.param(SOURCE, 1, False, "migrated", id="claimed-under-retry"),
    ],
)
def test_v18_cursor_0_does_not_prove_that_nothing_happened(
    source: Definition, lifetime: int, checked: bool, word: str
) -> None:
    job = facts(Phase.READY, lifetime=lifetime)
    assert judge_migrate(job, source, TARGET, effects_checked=checked)[0] == word


def test_a_place_is_taken_by_what_is_in_flight_and_in_an_ordered_flow_by_its_waiting_head() -> None:
    assert [phase for phase in Phase if occupies(3, phase)] == [Phase.INFLIGHT, Phase.HELD]
    assert [phase for phase in Phase if occupies(0, phase)] == [Phase.WAITING, Phase.INFLIGHT, Phase.HELD]

"""The audit's three parts in small; `python -m tests.audit` runs them whole (SCENARIOS, A1 to A3)."""

from pathlib import Path

import anyio

from tests.audit import damage, races, walks


def test_a1_random_operations_keep_every_invariant_after_each_of_them(tmp_path: Path) -> None:
    checks, heard = walks.one_seed(tmp_path, 150, 50)
    assert checks == 150
    assert len(heard) > 10


def test_a2_gated_processes_that_claim_migrate_and_switch_keep_the_invariants(tmp_path: Path) -> None:
    assert races.rounds(tmp_path, 1) == len(races.ROLES) == 12


def test_a3_a_registry_row_changed_behind_the_stores_back_is_refused_before_any_effect(tmp_path: Path) -> None:
    assert anyio.run(damage.damage, tmp_path / "damage.db") == 2

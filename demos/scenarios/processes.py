"""The groups with real processes: crash points as full snapshots, races as invariants."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from demos.scenarios import crash_barrier, crash_relay, crash_versions, races
from demos.scenarios.stage import Seen
from runtime.protocol.verdicts import OnLapse

Played = Callable[[Path], Awaitable[Seen]]
Versioned = Callable[[Path, OnLapse], Awaitable[Seen]]


async def played(folder: Path, items: Mapping[str, Played]) -> Seen:
    """Each item in a folder of its own."""
    return {name: await item(folder / name) for name, item in items.items()}


async def versioned(folder: Path, items: Mapping[str, Versioned]) -> Seen:
    """Each item under both lease policies."""
    return {
        f"{name} {policy}": await item(folder / f"{name}-{policy}", policy)
        for name, item in items.items()
        for policy in (OnLapse.HOLD, OnLapse.RETRY)
    }


async def relay_crash_points(folder: Path) -> Seen:
    """Group 15 of document 12: RC1–RC6."""
    return await played(folder, crash_relay.ITEMS)


async def eight_processes(folder: Path) -> Seen:
    """Group 16 of document 12: R45, R46."""
    return await played(folder, {name: races.ITEMS[name] for name in ("R45", "R46")})


async def barrier_crash_boundaries(folder: Path) -> Seen:
    """Group 7 of document 14: DC1–DC9."""
    return await played(folder, crash_barrier.ITEMS)


async def twelve_drains(folder: Path) -> Seen:
    """Group 8 of document 14: D20."""
    return await played(folder, {"D20": races.d20})


async def twelve_admissions(folder: Path) -> Seen:
    """Group 9 of document 14: D21."""
    return await played(folder, {"D21": races.d21})


async def crashed_steps(folder: Path) -> Seen:
    """Group 7 of document 15: VC5–VC7."""
    return await versioned(folder, crash_versions.STEPS)


async def crashed_commands(folder: Path) -> Seen:
    """Group 8 of document 15: VC1–VC4, VC8–VC12."""
    return await versioned(folder, crash_versions.ITEMS)


async def version_races(folder: Path) -> Seen:
    """Group 10 of document 15: V23–V26."""
    return await played(folder, {name: races.ITEMS[name] for name in ("V23", "V24", "V25", "V26")})


GROUPS = {
    "12.15": relay_crash_points,
    "12.16": eight_processes,
    "14.7": barrier_crash_boundaries,
    "14.8": twelve_drains,
    "14.9": twelve_admissions,
    "15.7": crashed_steps,
    "15.8": crashed_commands,
    "15.10": version_races,
}

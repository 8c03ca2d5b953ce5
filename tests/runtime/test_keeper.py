"""The keeper: leases renewed from its own thread, presence, sweeping and checkpoints; the watchdog beside it."""

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from anyio import Event, create_task_group, fail_after, to_thread

from runtime import keeper as keeping
from runtime import watchdog as watching
from runtime.bell import Bell
from runtime.flight import Flight
from runtime.keeper import Keeper
from runtime.places import Places
from runtime.protocol.records import Claim
from runtime.protocol.verdicts import Verdict
from runtime.stopping import Stop
from runtime.watchdog import Watchdog
from tests.runtime.stand_ins import WORKER, KeepersDesk, Runner, claim

pytestmark = pytest.mark.anyio


class Room:
    """A keeper over a set of flights, with its bell answered."""

    def __init__(self, desk: KeepersDesk, places: Places, bell: Bell, *, lease_s: float | None) -> None:
        self.desk = desk
        self.places = places
        self.watchdog = Watchdog(places, lambda: WORKER, bell, Stop(), owns_process=False)
        self.keeper = Keeper(self._open, lambda: WORKER, places, bell, self.watchdog, shortest_lease_s=lease_s)

    async def _open(self) -> KeepersDesk:
        return self.desk


@asynccontextmanager
async def kept(desk: KeepersDesk, places: Places, *, lease_s: float | None = 0.3) -> AsyncIterator[Room]:
    bell = Bell()
    room = Room(desk, places, bell, lease_s=lease_s)
    async with create_task_group() as group:
        group.start_soon(bell.serve)
        group.start_soon(to_thread.run_sync, room.keeper.run)
        await room.keeper.wait_opened()
        yield room
        room.keeper.stop()
        while "close" not in desk.said:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    room.keeper.close()
    bell.close()


def idle_places(wake: Callable[[], None] = lambda: None) -> Places:
    async def never(claim: Claim) -> int:
        return 1

    return Places(Runner(never), 1, wake)


async def until(met: Callable[[], bool]) -> None:
    with fail_after(10):
        while not met():
            await anyio.lowlevel.checkpoint()


async def test_a_claim_is_due_four_times_per_lease_and_looked_at_three_times_as_often() -> None:
    places, bell = idle_places(), Bell()
    keeper = Room(KeepersDesk(), places, bell, lease_s=0.3).keeper
    flight = Flight(claim("a", lease_ms=300))
    flight.renewed_at = 100.0
    places.flights.add(flight)
    assert keeper._due(100.074) == []
    assert keeper._due(100.076) == [flight]
    assert keeper._tick_s <= 0.3 / 12
    keeper.close()
    bell.close()


async def test_a_claim_is_renewed_again_and_again() -> None:
    desk, places = KeepersDesk(), idle_places()
    places.flights.add(Flight(claim("a", lease_ms=300)))
    async with kept(desk, places) as room:
        room.keeper.rouse()
        await until(lambda: len(desk.renewed) >= 4)
    assert set(desk.renewed) == {"a"}


async def test_leases_are_renewed_while_the_event_loop_is_blocked() -> None:
    desk, places = KeepersDesk(), idle_places()
    enough = threading.Event()
    desk.on_renew = lambda: enough.set() if len(desk.renewed) >= 3 else None
    async with kept(desk, places) as room:
        places.flights.add(Flight(claim("a", lease_ms=300)))
        room.keeper.rouse()
        assert enough.wait(10), "no renewals came while this thread, and with it the loop, stood still"


async def test_a_quick_job_costs_no_renewal() -> None:
    desk, places = KeepersDesk(), idle_places()
    places.flights.add(Flight(claim("a", lease_ms=3_600_000)))
    async with kept(desk, places):
        await until(lambda: desk.said.count("announce") >= 2)
    assert desk.renewed == []


async def test_on_a_logical_clock_nothing_is_renewed() -> None:
    desk, places = KeepersDesk(), idle_places()
    places.flights.add(Flight(claim("a", lease_ms=5)))
    async with kept(desk, places, lease_s=None):
        await until(lambda: desk.said.count("announce") >= 2)
    assert desk.renewed == []


async def test_a_refused_renewal_cancels_the_handler_of_that_claim_alone() -> None:
    desk = KeepersDesk()
    desk.verdicts["a"] = Verdict.STALE
    cancelled, go_on = [], Event()

    async def handler(claim: Claim) -> int:
        try:
            await go_on.wait()
        except anyio.get_cancelled_exc_class():
            cancelled.append(claim.token.job)
            raise
        return 1

    places = Places(Runner(handler), 2, lambda: None)
    async with create_task_group() as group:
        places.start(group)
        places.give([claim("a", lease_ms=300), claim("b", lease_ms=300)])
        async with kept(desk, places) as room:
            room.keeper.rouse()
            await until(lambda: bool(cancelled))
            go_on.set()
            await until(lambda: bool(places.outcomes))
        group.cancel_scope.cancel()
    assert cancelled == ["a"]
    assert [flight.claim.token.job for flight in places.outcomes] == ["b"]


async def test_it_says_that_the_process_lives_and_takes_it_back_at_the_end() -> None:
    desk = KeepersDesk()
    async with kept(desk, idle_places()):
        assert desk.said[0] == "announce"
    assert desk.said[-2:] == ["withdraw", "close"]


async def test_what_is_due_is_swept_while_every_place_is_busy() -> None:
    desk, places = KeepersDesk(), idle_places()
    desk.due = 1
    places.free = 0
    async with kept(desk, places):
        await until(lambda: "sweep" in desk.said)


async def test_an_idle_store_has_its_log_emptied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "QUIET_S", 0.0)
    monkeypatch.setattr(keeping, "BEAT_S", 0.01)
    desk = KeepersDesk()
    async with kept(desk, idle_places()):
        await until(lambda: desk.said.count("announce") >= 4)
    assert desk.said.count("checkpoint") == 1


async def test_the_handler_that_blocks_the_loop_is_named_with_the_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BLOCKED_S", 0.01)
    noticed = threading.Event()
    desk = KeepersDesk()

    async def blocking(claim: Claim) -> int:
        assert noticed.wait(10)
        return 1

    places = Places(Runner(blocking), 1, lambda: None)
    with caplog.at_level(logging.WARNING, "keepstep.watchdog"):
        async with create_task_group() as group:
            places.start(group)
            async with kept(desk, places) as room:
                places.flights.add(Flight(claim("other")))
                find = room.watchdog._find

                def found() -> tuple[str, dict[str, object]]:
                    noticed.set()
                    return find()

                monkeypatch.setattr(room.watchdog, "_find", found)
                places.give([claim("a")])
                room.keeper.rouse()
                await until(lambda: "blocked the event loop for" in caplog.text)
            group.cancel_scope.cancel()
    (record,) = caplog.records
    assert "handler 'credit' of job 'a' (points), step 'base', generation 1" in record.getMessage()
    assert vars(record)["job"] == "a"

"""Two definitions side by side: pinned jobs end by their own list (contract §3, §6, §11)."""

from demos.scenarios import points
from tests.conformance.conftest import Saw


async def test_v01_following_the_route_in_the_middle_gives_twenty_and_the_store_gives_eleven(saw: Saw) -> None:
    seen = await saw(points.v01)
    assert {name: sum(values) for name, values in seen["computed"].items()} == {"V1": 11, "V2": 13, "V1 then V2": 20}
    assert seen["steps after the switch"] == [["old", "bonus", 1, "done"]]
    assert seen["store"] == 11


async def test_v14_what_v2_only_workers_leave_is_told_until_a_v1_worker_comes(saw: Saw) -> None:
    assert await saw(points.v14) == {
        "new": [["new", "bonus", 3, "advanced"], ["new", "base", 10, "done"]],
        "unfinished": [{"V1": 1}] * 3,
        "old": [["old", "base", 10, "advanced"], ["old", "bonus", 1, "done"]],
        "at the end": {},
        "totals": [11, 13],
    }

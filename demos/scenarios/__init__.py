"""The scenario groups of the three documents: 16 of fair relay (12), 9 of the barrier (14), 10 of versions (15).

`GROUPS` maps each name to a coroutine function that plays the group afresh in a folder and returns plain data: what was
seen, complete snapshots of both files, and for races nothing but invariants.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from demos.scenarios import definitions, delivery, drain, migration, points, processes, relay
from demos.scenarios.world import Item, play

Group = Callable[[Path], Awaitable[dict[str, Any]]]


def group(*items: Item) -> Group:
    """A group that plays these items, each in a world of its own."""

    async def played(folder: Path) -> dict[str, Any]:
        return {item.__name__: await play(item, folder) for item in items}

    return played


GROUPS: dict[str, Group] = {
    "12.01 admission": group(relay.r01, relay.r02, relay.r03, relay.r04, delivery.r05),
    "12.02 rotation": group(relay.r06, relay.r07, relay.r08, relay.r09),
    "12.03 lexicographic contrast": group(relay.r10),
    "12.04 newcomers": group(relay.r11, relay.r12),
    "12.05 blocked heads": group(relay.r13, relay.r14, relay.r15, relay.r16),
    "12.06 backoff and budget": group(relay.r17, relay.r18, relay.r19),
    "12.07 lease lapse and take-over": group(relay.r20, relay.r21, relay.r22, relay.r23),
    "12.08 late callbacks": group(relay.r24, relay.r25, relay.r26, relay.r27),
    "12.09 logical clock": group(delivery.r28, delivery.r29),
    "12.10 inbox verdicts": group(delivery.r30, delivery.r31, delivery.r32, delivery.r33),
    "12.11 lost answer, unavailable": group(delivery.r34, delivery.r35),
    "12.12 unsupported, raised, redriven": group(delivery.r36, delivery.r37),
    "12.13 redrive and its audit": group(delivery.r38, delivery.r39, delivery.r40, delivery.r41),
    "12.14 atomic rollback": group(delivery.r42, delivery.r43, delivery.r44),
    "12.15 crash points": processes.GROUPS["12.15"],
    "12.16 eight processes": processes.GROUPS["12.16"],
    "14.1 life cycle": group(drain.d01, drain.d02, drain.d03),
    "14.2 every unfinished job blocks": group(
        drain.d04_ready,
        drain.d04_inflight,
        drain.d04_waiting,
        drain.d04_quarantined,
        drain.d04_held,
        drain.d04_between,
        drain.d05,
        drain.d06,
        drain.d07,
    ),
    "14.3 identity before the door": group(drain.d08, drain.d09),
    "14.4 control versions": group(drain.d10, drain.d11, drain.d12),
    "14.5 quarantine and requeue": group(drain.d13),
    "14.6 late finishes": group(drain.d14, drain.d15, drain.d16),
    "14.7 crash boundaries": processes.GROUPS["14.7"],
    "14.8 twelve drains": processes.GROUPS["14.8"],
    "14.9 twelve admissions against one drain": processes.GROUPS["14.9"],
    "15.01 the wrong 20": group(points.v01),
    "15.02 digests and registry": group(definitions.v02, definitions.v03, points.v04, definitions.v05),
    "15.03 route": group(points.v06, points.v07),
    "15.04 bound at admission": group(points.v08, points.v09, points.v10),
    "15.05 declared ability and coverage": group(points.v11, points.v12, points.v13, points.v14),
    "15.06 explicit migration": group(
        migration.v15, migration.v16, migration.v17, migration.v18, migration.v18_retry, migration.v19
    ),
    "15.07 crashed steps": processes.GROUPS["15.7"],
    "15.08 crashed admission, claim, switch, migration": processes.GROUPS["15.8"],
    "15.09 recovery and late callbacks": group(migration.v20, migration.v21, migration.v22),
    "15.10 races": processes.GROUPS["15.10"],
}
"""Every group by its document and number."""

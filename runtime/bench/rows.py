"""Jobs in bulk, written straight into the tables, so that a backlog of a million takes seconds and not minutes.

Only for files that are thrown away: it keeps the engine's counters right, but asks none of its questions.
"""

import sqlite3

FAR_MS = 4_000_000_000_000

NUMBERS = """
with recursive number (n) as (select 1 union all select n + 1 from number where n < :count)
"""
JOBS = NUMBERS + """
insert into keepstep_job
  (id, key, flow, seq, accepted, definition, state, cursor, generation, attempts, lifetime, due, reason, admitted_at,
  served, body)
select :job + n, 'bulk-' || printf('%031d', :job + n), iif(:flow is null, 0, :flow + n), :seq, :definition,
  :definition, :state, :state = 5, :claims, :claims * (:state <> 5), :claims, case :state when 1 then :due end,
  case :state when 4 then 'set aside for the bench' end, 0, iif(:flow is null, 0, null), '{"n":1}'
from number
"""
EFFECTS = NUMBERS + """
insert into keepstep_effect (job, step, definition, at, generation, value)
select :job + n, 0, :definition, 0, 1, '1' from number
"""
FLOWS = NUMBERS + """
insert into keepstep_flow (id, name, width, served, next_seq, unfinished, taken, job, next_definition)
select :job + n, 'bulk-' || (:job + n), 0, 0, 2, 1, 0, case :state when 0 then :job + n end,
  case :state when 0 then :definition end
from number
"""
BEHIND = "update keepstep_flow set next_seq = 3, unfinished = 2 where id > :flow and id <= :flow + :count"
TALLY = """
insert into keepstep_tally (definition, state, n) values (:definition, :state, :count)
on conflict (definition, state) do update set n = n + excluded.n
"""
COUNTERS = """
update keepstep_tally
set n = n + case state when 6 then :claimed when 7 then :unfinished when 8 then :effects else :count end
where definition = 0 and state in (6, 7, 8, 10)
"""
READY, WAITING, QUARANTINED, DONE = 0, 1, 4, 5
HEADS = "ready heads"


def definition_id(raw: sqlite3.Connection, digest: str) -> int:
    """The number of a registered definition."""
    (found,) = raw.execute("select id from keepstep_definition where digest = ?", (digest,)).fetchone()
    return int(found)


def fill(raw: sqlite3.Connection, definition: int, kind: int | str, count: int) -> None:
    """`count` one-step jobs of one kind, in one transaction: without a flow ready, waiting or done; at the head of a
    flow ready (`HEADS`) or quarantined, with a ready job behind it."""
    (job,) = raw.execute("select last_job from keepstep_counters").fetchone()
    state = READY if kind == HEADS else kind
    in_flows = kind in (HEADS, QUARANTINED)
    claimed = state != READY
    values = {
        "definition": definition,
        "state": state,
        "count": count,
        "job": job,
        "flow": job if in_flows else None,
        "seq": 1,
        "claims": int(claimed),
        "due": FAR_MS,
        "claimed": count * claimed,
        "unfinished": count * (state != DONE),
        "effects": count * (state == DONE),
    }
    raw.execute("begin immediate")
    for statement in (JOBS, TALLY, COUNTERS, *[FLOWS] * in_flows, *[EFFECTS] * (state == DONE)):
        raw.execute(statement, values)
    if state == QUARANTINED:
        behind = {**values, "state": READY, "job": job + count, "seq": 2, "claims": 0}
        behind |= {"claimed": 0, "unfinished": count, "effects": 0}
        for statement in (JOBS, TALLY, COUNTERS, BEHIND):
            raw.execute(statement, behind)
    raw.execute("commit")

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
  (id, key, flow, seq, accepted, definition, state, cursor, generation, attempts, lifetime, due, reason, admitted_at)
select :job + n, 'bulk-' || printf('%031d', :job + n), :flow + n, :seq, :definition, :definition, :state,
  :state = 5, :claims, :claims * (:state <> 5), :claims, case :state when 1 then :due end,
  case :state when 4 then 'set aside for the bench' end, 0
from number
"""
PAYLOADS = NUMBERS + "insert into keepstep_payload (job, body) select :job + n, '{\"n\":1}' from number"
EFFECTS = NUMBERS + """
insert into keepstep_effect (job, step, definition, at, generation, value)
select :job + n, 0, :definition, 0, 1, '1' from number
"""
FLOWS = NUMBERS + """
insert into keepstep_flow (id, name, width, served, next_seq, unfinished, taken, job, next_definition)
select :flow + n, null, 0, 0, 2, 1, :taken, case :state when 0 then :job + n end,
  case :state when 0 then :definition end
from number
"""
BEHIND = "update keepstep_flow set next_seq = 3, unfinished = 2 where id > :flow and id <= :flow + :count"
TALLY = """
insert into keepstep_tally (definition, state, n) values (:definition, :state, :count)
on conflict (definition, state) do update set n = n + excluded.n
"""
CONTROL = """
update keepstep_control set last_job = last_job + :count, last_flow = last_flow + :flows, ticket = ticket + :claimed,
  unfinished = unfinished + :unfinished, effects = effects + :effects
"""
READY, WAITING, QUARANTINED, DONE = 0, 1, 4, 5


def definition_id(raw: sqlite3.Connection, digest: str) -> int:
    """The number of a registered definition."""
    (found,) = raw.execute("select id from keepstep_definition where digest = ?", (digest,)).fetchone()
    return int(found)


def fill(raw: sqlite3.Connection, definition: int, state: int, count: int) -> None:
    """`count` one-step jobs without a flow in one state: ready, waiting, quarantined (each with a ready job behind it)
    or done; one transaction."""
    job, flow = raw.execute("select last_job, last_flow from keepstep_control").fetchone()
    claimed = state != READY
    values = {
        "definition": definition,
        "state": state,
        "count": count,
        "job": job,
        "flow": flow,
        "seq": 1,
        "claims": int(claimed),
        "taken": int(state == WAITING),
        "due": FAR_MS,
        "flows": count,
        "claimed": count * claimed,
        "unfinished": count * (state != DONE),
        "effects": count * (state == DONE),
    }
    raw.execute("begin immediate")
    for statement in (JOBS, PAYLOADS, TALLY, CONTROL, EFFECTS if state == DONE else FLOWS):
        raw.execute(statement, values)
    if state == QUARANTINED:
        behind = {**values, "state": READY, "job": job + count, "seq": 2, "claims": 0}
        behind |= {"flows": 0, "claimed": 0, "unfinished": count, "effects": 0}
        for statement in (JOBS, PAYLOADS, TALLY, CONTROL, BEHIND):
            raw.execute(statement, behind)
    raw.execute("commit")

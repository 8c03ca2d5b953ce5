"""What must hold in a file at any moment, as SQL: each statement returns the rows that break its sentence.

`check(path)` reads on a fresh connection, in one read transaction, and returns a line for each broken sentence.
"""

import hashlib
import os
import sqlite3
from contextlib import closing

STATEMENTS = {
    "the sum of lifetime attempts is the global ticket": """
        select c.ticket, (select coalesce(sum(lifetime), 0) from keepstep_job) as total from keepstep_counters c
        where c.ticket <> total""",
    "generation = lifetime attempts + audited redrives, recoveries, operator quarantines and migrations": """
        select j.key, j.generation, j.lifetime, count(a.id) as acts from keepstep_job j
        left join keepstep_audit a on a.job = j.id and a.verb in ('redrive', 'recover', 'quarantine_job', 'migrate')
        group by j.id having j.generation <> j.lifetime + acts""",
    "attempts never exceed lifetime attempts": """
        select key, attempts, lifetime from keepstep_job where attempts > lifetime or attempts < 0""",
    "effects are the gapless prefix 0..cursor-1": """
        select j.key, j.cursor, count(e.step) as n, max(e.step) as last from keepstep_job j
        left join keepstep_effect e on e.job = j.id
        group by j.id having n <> j.cursor or coalesce(last, -1) <> j.cursor - 1""",
    "every effect's definition is the job's current one": """
        select j.key, e.step, e.definition, j.definition from keepstep_effect e join keepstep_job j on j.id = e.job
        where e.definition <> j.definition""",
    "no effect is newer than its job's generation": """
        select j.key, e.step, e.generation from keepstep_effect e join keepstep_job j on j.id = e.job
        where e.generation > j.generation or e.generation < 1""",
    "every effect belongs to a job": """
        select job, step from keepstep_effect where job not in (select id from keepstep_job)""",
    "a job is done exactly when its cursor has passed its last step": """
        select j.key, j.state, j.cursor, d.steps from keepstep_job j join keepstep_definition d on d.id = j.definition
        where (j.state = 5) <> (j.cursor = d.steps) or j.cursor > d.steps""",
    "every job has its payload, and no payload is without a job": """
        select key from keepstep_job where (body is null) <> (id in (select job from keepstep_payload))
        union all select job from keepstep_payload where job not in (select id from keepstep_job)""",
    "a job in flight has used an attempt": """
        select key, state, attempts from keepstep_job where state in (2, 3) and attempts = 0""",
    "the tally is the recount": """
        select definition, state, sum(n) as difference from
          (select definition, state, n from keepstep_tally where definition <> 0
           union all select definition, state, -count(*) from keepstep_job group by definition, state)
        group by definition, state having difference <> 0""",
    "the store's counters are the recount": """
        select c.unfinished, c.effects, c.last_job from keepstep_counters c
        where c.unfinished <> (select count(*) from keepstep_job where state <> 5)
           or c.effects <> (select count(*) from keepstep_effect)
           or c.last_job < (select coalesce(max(id), 0) from keepstep_job)
           or c.last_job < (select coalesce(max(id), 0) from keepstep_flow)
           or c.releases <> (select coalesce(sum(times), 0) from keepstep_history where what = 'released')""",
    "the flows' counters are the recount": """
        select f.id, f.name, f.unfinished, f.taken, count(j.id) as open,
          coalesce(sum(j.state in (2, 3) or (f.width = 0 and j.state = 1)), 0) as busy
        from keepstep_flow f left join keepstep_job j on j.flow = f.id and j.state <> 5
        group by f.id having f.unfinished <> open or f.taken <> busy""",
    "every unfinished job has its flow, or a turn of its own": """
        select key, flow, served from keepstep_job
        where state <> 5 and (served is null) <> (flow in (select id from keepstep_flow))""",
    "every flow has a name": """
        select id from keepstep_flow where name is null""",
    "sequence numbers are gapless from 1, and the flow knows the next": """
        select j.flow, min(j.seq) as first, max(j.seq) as last, count(distinct j.seq) as n, f.next_seq
        from keepstep_job j left join keepstep_flow f on f.id = j.flow
        group by j.flow, iif(f.id is null, j.id, 0)
        having first <> 1 or last <> n or n <> count(*) or (f.id is not null and f.next_seq <> last + 1)""",
    "of an ordered flow only the head is in flight or waiting": """
        select f.id, f.name from keepstep_flow f join keepstep_job j on j.flow = f.id
        where f.width = 0 and j.state in (1, 2, 3)
          and exists (select 1 from keepstep_job h where h.flow = f.id and h.state <> 5 and h.seq < j.seq)""",
    "a flow's dispatch state is what its jobs make it": """
        select f.id, f.name, f.job, f.next_definition from keepstep_flow f
        left join keepstep_job n on n.id =
          (select j.id from keepstep_job j where j.flow = f.id and j.state = 0 and f.taken < max(f.width, 1)
             and (f.width > 0 or not exists
               (select 1 from keepstep_job h where h.flow = f.id and h.state <> 5 and h.seq < j.seq))
           order by j.seq limit 1)
        where f.job is not n.id or f.next_definition is not n.definition""",
    "no flow, and no job without one, was served later than the last ticket": """
        select t.id, t.served from keepstep_counters c,
          (select id, served from keepstep_flow union all select id, served from keepstep_job) t
        where t.served > c.ticket or t.served < 0""",
    "paused means nothing unfinished": """
        select c.mode, j.key from keepstep_control c, keepstep_job j where c.mode = 'paused' and j.state <> 5""",
    "the barrier's version is the number of its audited commands": """
        select c.version, count(a.id) as acts from keepstep_control c
        left join keepstep_audit a on a.verb in ('drain', 'pause', 'resume') group by c.id having c.version <> acts""",
    "a route's revision is the number of its audited switches": """
        select r.workflow, r.revision, count(a.id) as acts from keepstep_route r
        left join keepstep_audit a on a.verb = 'switch' and a.subject = r.workflow
        group by r.workflow having r.revision <> acts""",
    "the binding revision is the number of audited migrations": """
        select j.key, j.binding, count(a.id) as acts from keepstep_job j
        left join keepstep_audit a on a.job = j.id and a.verb = 'migrate' group by j.id having j.binding <> acts""",
    "the migrations lead from the accepted to the current digest without a gap": """
        with link as (
          select j.id, j.key, a.id as at, a.before ->> 'digest' as origin, a.after ->> 'digest' as target,
            lag(a.after ->> 'digest') over (partition by j.id order by a.id) as previous,
            lead(a.id) over (partition by j.id order by a.id) as following,
            d.digest as accepted, n.digest as now
          from keepstep_job j join keepstep_audit a on a.job = j.id and a.verb = 'migrate'
          join keepstep_definition d on d.id = j.accepted join keepstep_definition n on n.id = j.definition)
        select key, at, origin, target from link
        where origin is not coalesce(previous, accepted) or (following is null and target is not now)
        union all select key, 0, accepted, definition from keepstep_job where binding = 0 and accepted <> definition""",
    "a receipt's command left an audit row": """
        select command_id, verb from keepstep_receipt
        where command_id not in (select command_id from keepstep_audit where command_id is not null)""",
    "history speaks of jobs that exist": """
        select id, job from keepstep_history where job not in (select id from keepstep_job) or times < 1""",
    "a job's definition is of its accepted one's workflow": """
        select j.key from keepstep_job j join keepstep_definition a on a.id = j.accepted
        join keepstep_definition d on d.id = j.definition where a.workflow <> d.workflow""",
    "a definition's step rows are as many as it has steps": """
        select d.id, d.steps, count(s.ix) as n from keepstep_definition d
        left join keepstep_step s on s.definition = d.id
        group by d.id having n <> d.steps or n <> json_array_length(d.manifest, '$.steps')""",
}

INBOX_STATEMENTS = {
    "a flow's receipts are gapless, and add up to its total": """
        select f.flow, f.next_seq, f.total, count(r.event_id) as n, coalesce(sum(r.body ->> 'delta'), 0) as deltas
        from inbox_flow f left join inbox_receipt r on r.flow = f.flow
        group by f.flow having f.next_seq <> n + 1 or f.total <> deltas or max(r.seq) <> n""",
    "every receipt has its flow's effect": """
        select event_id from inbox_receipt where flow not in (select flow from inbox_flow)""",
}


def check(path: str | os.PathLike[str]) -> list[str]:
    """A line for each sentence that does not hold in a store's file, with the first rows that break it."""
    with closing(_open(path)) as raw:
        broken = _whole(raw) + _judge(raw, STATEMENTS)
        for digest, manifest in raw.execute("select digest, manifest from keepstep_definition"):
            if hashlib.sha256(manifest.encode()).hexdigest() != digest:
                broken.append(f"a definition's digest is that of its bytes: {digest}")
    return broken


def check_inbox(path: str | os.PathLike[str]) -> list[str]:
    """The same for a receiver's file."""
    with closing(_open(path)) as raw:
        return _whole(raw) + _judge(raw, INBOX_STATEMENTS)


def _open(path: str | os.PathLike[str]) -> sqlite3.Connection:
    raw = sqlite3.connect(f"file:{os.fspath(path)}?mode=ro", uri=True, isolation_level=None)
    raw.execute("begin")
    return raw


def _whole(raw: sqlite3.Connection) -> list[str]:
    found = [row[0] for row in raw.execute("pragma integrity_check") if row[0] != "ok"]
    dangling = raw.execute("pragma foreign_key_check").fetchall()
    return [f"the file is whole: {line}" for line in found] + [f"foreign keys hold: {row}" for row in dangling]


def _judge(raw: sqlite3.Connection, sentences: dict[str, str]) -> list[str]:
    found = {sentence: raw.execute(statement).fetchmany(5) for sentence, statement in sentences.items()}
    return [f"{sentence}: {rows}" for sentence, rows in found.items() if rows]

-- Statements that several verbs share.
-- params: keys, ids, flows: JSON arrays; rows of `tally`, `put`, `history`, `refusals`, `audit`,
-- `new_receipts`: bound values.

-- name: load_control
select c.store_id, c.clock, c.tick, c.mode, c.version, c.pause_version, c.capacity, c.flow_capacity, c.newcomers,
  n.ticket, n.unfinished, n.effects, n.releases, n.last_job
from keepstep_control c cross join keepstep_counters n;

-- name: control
update keepstep_control set tick = :tick, mode = :mode, version = :version, pause_version = :pause_version,
  capacity = :capacity, flow_capacity = :flow_capacity, newcomers = :newcomers
where id = 1;

-- name: tally
insert into keepstep_tally (definition, state, n) values (?, ?, ?)
on conflict (definition, state) do update set n = n + excluded.n;

-- name: facts
select j.id, j.key, j.flow, j.seq, j.definition, j.binding, j.state, j.cursor, j.generation, j.attempts, j.lifetime,
  j.due, j.lease, j.since, j.worker, j.reason, coalesce(f.width, 0), f.name is null
from json_each(:keys) t cross join keepstep_job j on j.key = t.value left join keepstep_flow f on f.id = j.flow;

-- name: put
update keepstep_job set definition = :definition, binding = :binding, state = :state, cursor = :cursor,
  generation = :generation, attempts = :attempts, due = :due, lease = :lease, since = :since, worker = :worker,
  reason = :reason
where id = :id;

-- name: refresh
update keepstep_flow set taken = taken + (t.value ->> 1), unfinished = unfinished + (t.value ->> 2),
  (job, next_definition) = (
    select j.id, j.definition
    from (
      select id, definition, seq from keepstep_job
      where flow = keepstep_flow.id and state = 0 and served is null order by seq limit 1
    ) j
    where case keepstep_flow.width
      when 0 then keepstep_flow.taken + (t.value ->> 1) = 0 and not exists (
        select 1 from keepstep_job p where p.flow = keepstep_flow.id and p.state in (3, 4) and p.seq < j.seq)
      else keepstep_flow.taken + (t.value ->> 1) < keepstep_flow.width
    end
  )
from json_each(:flows) t where keepstep_flow.id = t.value ->> 0;

-- name: worker
select id from keepstep_worker where name = :name;

-- name: new_worker
insert into keepstep_worker (name) values (:name) returning id;

-- name: definitions
select id, digest, workflow from keepstep_definition
where id in (select value from json_each(:ids)) or digest in (select value from json_each(:digests));

-- name: policies
select name, budget, base, ceiling, lease, time_limit, hold from keepstep_step where definition = :definition order by ix;

-- name: history
insert into keepstep_history (job, step, generation, worker, at, what, why, last_at)
values (?, ?, ?, ?, ?, ?, ?, ?);

-- name: refusals
insert into keepstep_history (job, step, generation, worker, at, what, why, last_at)
values (?, ?, ?, ?, ?, 'refused', ?, ?)
on conflict (job, generation, why) where what = 'refused' do update set times = times + 1, last_at = excluded.last_at;

-- name: audit
insert into keepstep_audit (at, actor, verb, job, subject, before, after, reason, command_id)
values (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: receipts
select command_id, verb, arguments, outcome from keepstep_receipt
where command_id in (select value from json_each(:ids));

-- name: new_receipts
insert into keepstep_receipt (command_id, verb, arguments, outcome) values (?, ?, ?, ?);

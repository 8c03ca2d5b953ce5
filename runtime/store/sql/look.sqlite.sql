-- look: what readers ask. No statement here writes.
-- params: key, name, limit, after; digests: JSON array; state: a phase's number or null.

-- name: control
select c.store_id, c.clock, c.tick, c.mode, c.version, c.pause_version, c.capacity, c.flow_capacity, c.newcomers,
  n.ticket, n.unfinished, n.effects, n.releases, n.last_job
from keepstep_control c cross join keepstep_counters n;

-- name: tally
select d.digest, t.state, t.n from keepstep_tally t cross join keepstep_definition d on d.id = t.definition
where t.n <> 0 order by d.id, t.state;

-- name: routes
select r.workflow, d.digest, r.revision from keepstep_route r cross join keepstep_definition d on d.id = r.definition
order by r.workflow;

-- name: flows
select name, width, served, next_seq, unfinished, taken from keepstep_flow
where name is not null order by unfinished desc, id limit :limit;

-- name: flow
select name, width, served, next_seq, unfinished, taken from keepstep_flow where name = :name;

-- name: presence
select w.name, p.host, p.pid, p.started_at_ms, p.seen_at_ms, p.digests, p.engine
from keepstep_presence p cross join keepstep_worker w on w.id = p.worker order by p.started_at_ms, w.name;

-- name: job
select j.key, f.name, j.seq, j.accepted, j.definition, j.binding, j.state, j.cursor, j.generation, j.attempts,
  j.lifetime, j.due, j.lease, j.since, w.name, j.reason, j.admitted_at, a.digest, a.workflow, d.digest, d.workflow
from keepstep_job j cross join keepstep_definition a on a.id = j.accepted
cross join keepstep_definition d on d.id = j.definition
left join keepstep_flow f on f.id = j.flow left join keepstep_worker w on w.id = j.worker
where j.key = :key;

-- name: jobs
select j.key, f.name, j.seq, j.accepted, j.definition, j.binding, j.state, j.cursor, j.generation, j.attempts,
  j.lifetime, j.due, j.lease, j.since, w.name, j.reason, j.admitted_at, a.digest, a.workflow, d.digest, d.workflow
from keepstep_job j cross join keepstep_definition a on a.id = j.accepted
cross join keepstep_definition d on d.id = j.definition
left join keepstep_flow f on f.id = j.flow left join keepstep_worker w on w.id = j.worker
where j.id > coalesce((select id from keepstep_job where key = :after), 0)
  and (:states is null or j.state in (select value from json_each(:states)))
  and (:flow is null or f.name = :flow)
  and (:digest is null or d.digest = :digest)
order by j.id limit :limit;

-- name: head
select key from keepstep_job
where flow = (select id from keepstep_flow where name = :name) and state < 5 order by seq limit 1;

-- name: payload
select coalesce(j.body, (select p.body from keepstep_payload p where p.job = j.id))
from keepstep_job j where j.key = :key;

-- name: effects
select e.step, s.name, d.digest, e.value, e.at, e.generation, w.name
from keepstep_effect e cross join keepstep_definition d on d.id = e.definition
cross join keepstep_step s on s.definition = e.definition and s.ix = e.step
left join keepstep_worker w on w.id = e.worker
where e.job = (select id from keepstep_job where key = :key) order by e.step;

-- name: history
select h.step, h.generation, w.name, h.at, h.what, h.why, h.times, h.last_at
from keepstep_history h left join keepstep_worker w on w.id = h.worker
where h.job = (select id from keepstep_job where key = :key) order by h.id;

-- name: audit_of
select at, actor, verb, subject, before, after, reason, command_id from keepstep_audit
where job = (select id from keepstep_job where key = :key) order by id limit :limit;

-- name: audit
select at, actor, verb, subject, before, after, reason, command_id from keepstep_audit order by id desc limit :limit;

-- name: definitions
select digest, cast(manifest as blob) from keepstep_definition order by id;

-- name: claimable
select exists (
  select 1 from json_each(:digests) t cross join keepstep_definition d on d.digest = t.value
  where exists (select 1 from keepstep_flow where next_definition = d.id)
    or exists (select 1 from keepstep_job where definition = d.id and state = 0 and served is not null)
);

-- name: next_due
select min(due) from keepstep_job where due is not null;

-- name: tables
select name from sqlite_schema where type = 'table' and substr(name, 1, 9) = 'keepstep_' order by name;

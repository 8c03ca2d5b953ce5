-- admit: facts, then what the fold decided.
-- params: keys, names, workflows, flows: JSON arrays; rows: bound values.
-- uses: load_control definitions policies refresh tally control

-- name: known
select j.key, f.name, j.seq, j.accepted, j.definition, j.binding, j.state, j.cursor, j.generation, j.attempts,
  j.lifetime, j.due, j.lease, j.since, w.name, j.reason, j.admitted_at,
  coalesce(j.body, (select p.body from keepstep_payload p where p.job = j.id)), f.width
from json_each(:keys) t cross join keepstep_job j on j.key = t.value
left join keepstep_flow f on f.id = j.flow left join keepstep_worker w on w.id = j.worker;

-- name: routes
select r.workflow, r.definition from json_each(:workflows) t cross join keepstep_route r on r.workflow = t.value;

-- name: flows
select f.name, f.id, f.width, f.next_seq, f.unfinished, f.served
from json_each(:names) t cross join keepstep_flow f on f.name = t.value and f.name is not null;

-- name: new_flows
insert into keepstep_flow (id, name, width, served, next_seq, unfinished, taken, job, next_definition)
values (?, ?, ?, ?, ?, ?, 0, ?, ?);

-- name: jobs
insert into keepstep_job (id, key, flow, seq, accepted, definition, since, admitted_at, served, body)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: payloads
insert into keepstep_payload (job, body) values (?, ?);

-- name: grown
update keepstep_flow set next_seq = t.value ->> 1, served = t.value ->> 2
from json_each(:flows) t where keepstep_flow.id = t.value ->> 0;

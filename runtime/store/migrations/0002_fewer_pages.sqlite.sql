-- Fewer pages for one admission, one claim, one commit. A job without a flow carries its own turn: `served` stands in its
-- row, and no row of a flow is made for it. A flow's number is that of the job that made it, so that numbers tell flows
-- and such jobs by age. A short payload stands in its job's row. The store's counters stand with the tally.

-- name: job_served
alter table keepstep_job add column served integer;

-- name: job_body
-- null: the payload is long, and has a row of its own
alter table keepstep_job add column body text;

-- name: job_turns
-- what is done is claimed no more and needs no turn
update keepstep_job set served = f.served
from keepstep_flow f where f.id = keepstep_job.flow and f.name is null;

-- name: jobs_without_flow
update keepstep_job set flow = 0 where flow not in (select id from keepstep_flow where name is not null);

-- name: unnamed_flows
delete from keepstep_flow where name is null;

-- name: flow_ages
-- by way of a negative number, for a new number may be that of another flow
update keepstep_flow set id = -p.first
from (select flow, min(id) as first from keepstep_job where flow > 0 group by flow) p where p.flow = keepstep_flow.id;

-- name: jobs_of_flows
update keepstep_job set flow = p.first
from (select flow, min(id) as first from keepstep_job where flow > 0 group by flow) p where p.flow = keepstep_job.flow;

-- name: flow_numbers
update keepstep_flow set id = -id;

-- name: drop_job_ready
drop index keepstep_job_ready;

-- name: job_ready_in_flow
create index keepstep_job_ready on keepstep_job (flow, seq) where state = 0 and served is null;

-- name: job_turn
create index keepstep_job_turn on keepstep_job (definition, served) where state = 0 and served is not null;

-- name: counters
-- the store's own counters stand beside the tally's, under definition 0, so that what every verb changes is one page
insert into keepstep_tally (definition, state, n)
select 0, 6, ticket from keepstep_control
union all select 0, 7, unfinished from keepstep_control
union all select 0, 8, effects from keepstep_control
union all select 0, 9, releases from keepstep_control
union all select 0, 10, last_job from keepstep_control;

-- name: old_control
-- made anew and not altered: an app's own view or trigger that no longer fits would stop an `alter table`
create table keepstep_old_control as select * from keepstep_control;

-- name: drop_control
drop table keepstep_control;

-- name: new_control
create table keepstep_control (
  id integer primary key check (id = 1),
  store_id text not null,
  clock text not null check (clock in ('wall', 'logical')),
  tick integer not null default 0,
  mode text not null default 'open' check (mode in ('open', 'draining', 'paused')),
  version integer not null default 0,
  pause_version integer,
  capacity integer,
  flow_capacity integer,
  newcomers text not null default 'behind' check (newcomers in ('behind', 'first')),
  created_at integer not null
) strict;

-- name: control_row
insert into keepstep_control
select id, store_id, clock, tick, mode, version, pause_version, capacity, flow_capacity, newcomers, created_at
from keepstep_old_control;

-- name: drop_old_control
drop table keepstep_old_control;

-- name: counters_by_name
create view keepstep_counters as
select t.n as ticket, u.n as unfinished, e.n as effects, r.n as releases, j.n as last_job
from keepstep_tally t
join keepstep_tally u on u.definition = 0 and u.state = 7
join keepstep_tally e on e.definition = 0 and e.state = 8
join keepstep_tally r on r.definition = 0 and r.state = 9
join keepstep_tally j on j.definition = 0 and j.state = 10
where t.definition = 0 and t.state = 6;

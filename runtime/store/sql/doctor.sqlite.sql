-- doctor: is the file whole, and do its counters say what a recount says. These read everything; they are no verb's.

-- name: newest
-- returns: the newest time that any row carries, in the store's clock
select max(t) from (
  select max(admitted_at) as t from keepstep_job
  union all select max(since) from keepstep_job
  union all select max(at) from keepstep_effect
  union all select max(last_at) from keepstep_history
  union all select max(at) from keepstep_audit
);

-- name: counters
-- returns: unfinished and effects as they are counted and as a recount has them; ticket and the sum of lifetime attempts;
-- null for a counter that is missing; how many there are
select c.clock, c.tick, u.n, (select count(*) from keepstep_job where state <> 5),
  e.n, (select count(*) from keepstep_effect), (select coalesce(sum(cursor), 0) from keepstep_job),
  t.n, (select coalesce(sum(lifetime), 0) from keepstep_job),
  (select count(*) from keepstep_tally where definition = 0)
from keepstep_control c
left join keepstep_tally t on t.definition = 0 and t.state = 6
left join keepstep_tally u on u.definition = 0 and u.state = 7
left join keepstep_tally e on e.definition = 0 and e.state = 8;

-- name: tally
-- returns: definition and state where the tally differs from a recount: digest, state, tally, recount
select d.digest, x.state, sum(x.tally), sum(x.recount)
from (
  select definition, state, n as tally, 0 as recount from keepstep_tally
  union all
  select definition, state, 0, count(*) from keepstep_job group by definition, state
) x
join keepstep_definition d on d.id = x.definition
group by x.definition, x.state
having sum(x.tally) <> sum(x.recount);

-- name: flows
-- returns: how many flows count their unfinished jobs otherwise than a recount
select count(*) from keepstep_flow f
left join (
  select flow, count(*) as n from keepstep_job where state <> 5 and served is null group by flow
) j on j.flow = f.id
where f.unfinished <> coalesce(j.n, 0);

-- name: presence
-- returns: worker, host, pid, when it was last heard of
select w.name, p.host, p.pid, p.seen_at_ms from keepstep_presence p join keepstep_worker w on w.id = p.worker
order by p.seen_at_ms desc;

-- name: registry
-- returns: digest, workflow, the bytes of the manifest as they stand
select digest, workflow, cast(manifest as blob) from keepstep_definition order by id;

-- picture: what a status page shows beside the snapshot, from the same read transaction.

-- name: flights
-- params: limit; alive_ms
-- returns: jobs in flight, the longest lease first, and whether their worker lives
select j.key, d.workflow, f.name, s.name, w.name, j.since, j.lease, j.attempts, j.state = 3,
  exists (select 1 from keepstep_presence p where p.worker = j.worker and p.seen_at_ms between :alive_ms and :alive_ms + 6000)
from (
  select * from keepstep_job where due is not null and state = 2
  union all
  select * from keepstep_job where state in (3, 4) and state = 3
) j
join keepstep_definition d on d.id = j.definition
join keepstep_step s on s.definition = j.definition and s.ix = j.cursor
join keepstep_worker w on w.id = j.worker
left join keepstep_flow f on f.id = j.flow
order by j.lease desc limit :limit;

-- name: parked
-- params: limit
-- returns: quarantined jobs with their reasons
select j.key, d.workflow, f.name, j.cursor, j.since, j.reason
from keepstep_job j
join keepstep_definition d on d.id = j.definition
left join keepstep_flow f on f.id = j.flow
where j.state in (3, 4) and j.state = 4 limit :limit;

-- name: flow_sums
-- returns: flows, their unfinished jobs, unfinished jobs without a flow
select count(f.id), coalesce(sum(f.unfinished), 0), n.unfinished - coalesce(sum(f.unfinished), 0)
from keepstep_counters n left join keepstep_flow f on true;

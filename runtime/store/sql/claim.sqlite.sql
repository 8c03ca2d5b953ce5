-- claim: sweep what is due, pick the flows and the jobs without a flow whose turn it is, take the flows' next jobs.
-- params: now, limit; definitions: JSON array of ids; flows: JSON arrays [flow, …]; jobs: JSON object,
-- served of a job without a flow, or null, by job.
-- uses: load_control sweep.due definitions policies history put worker new_worker refresh tally control

-- name: pick
select q.id, q.served, q.width, q.taken, q.name, j.id, j.key, j.seq, j.definition, j.cursor, j.generation, j.attempts,
  j.lifetime, j.binding, coalesce(j.body, (select p.body from keepstep_payload p where p.job = j.id))
from (
  select * from (
    select f.id, f.served, f.width, f.taken, f.name, f.job
    from json_each(:definitions) d cross join keepstep_flow f on f.next_definition = d.value
    order by f.served, f.id limit :limit
  )
  union all
  select * from (
    select a.id, a.served, 0, 0, null, a.id
    from json_each(:definitions) d
    cross join keepstep_job a on a.definition = d.value and a.state = 0 and a.served is not null
    order by a.served, a.id limit :limit
  )
) q cross join keepstep_job j on j.id = q.job;

-- name: more
select t.value ->> 0, j.id, j.key, j.seq, j.definition, j.cursor, j.generation, j.attempts, j.lifetime, j.binding,
  coalesce(j.body, (select p.body from keepstep_payload p where p.job = j.id))
from json_each(:flows) t
cross join json_each((
  select json_group_array(id) from (
    select id, sum(definition not in (select value from json_each(:definitions)))
      over (order by seq rows unbounded preceding) as foreign_seen
    from (
      select id, seq, definition from keepstep_job
      where flow = t.value ->> 0 and state = 0 and served is null order by seq limit :limit
    )
  ) where foreign_seen = 0
)) q
cross join keepstep_job j on j.id = q.value
where q.key between 1 and (t.value ->> 1) - 1
order by q.key, t.value ->> 2, t.value ->> 0 limit :limit;

-- name: jobs
update keepstep_job set state = :state, generation = generation + 1, attempts = attempts + 1, lifetime = lifetime + 1,
  due = :due, lease = :lease, since = :now, worker = :worker, reason = null, served = t.value
from json_each(:jobs) t where keepstep_job.id = t.key;

-- name: flows
update keepstep_flow set served = t.value ->> 1, taken = taken + (t.value ->> 2), job = null, next_definition = null
from json_each(:flows) t where keepstep_flow.id = t.value ->> 0;

-- name: next_due
select min(due) from keepstep_job where due is not null;

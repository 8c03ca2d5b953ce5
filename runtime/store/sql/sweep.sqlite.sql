-- sweep: what the clock acts on: backoffs that are over, `retry` leases that have lapsed.
-- params: now, limit. returns: facts.
-- uses: load_control definitions policies history put refresh tally control

-- name: due
select j.id, j.key, j.flow, j.seq, j.definition, j.binding, j.state, j.cursor, j.generation, j.attempts, j.lifetime,
  j.due, j.lease, j.since, j.worker, j.reason, coalesce(f.width, 0), f.name is null
from keepstep_job j left join keepstep_flow f on f.id = j.flow
where j.due <= :now order by j.due limit :limit;

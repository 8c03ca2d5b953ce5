-- explain: what every unfinished job waits for, in one word each. `causes` is the beginning of the others: it gives
-- each unfinished job exactly one cause, so the counts by cause add up to the unfinished total.

-- name: causes
-- params: now in the store's clock; alive_ms, three seconds ago in wall time: a worker that lives was heard
-- of within three seconds of now, before it or, where a clock went back, after it
with
  live (id) as materialized (
    select distinct d.id
    from keepstep_presence p, json_each(p.digests) t
    join keepstep_definition d on d.digest = t.value
    where p.seen_at_ms between :alive_ms and :alive_ms + 6000
  ),
  unfinished as (
    select * from keepstep_job where state = 0 and served is null
    union all
    select * from keepstep_job where state = 0 and served is not null
    union all
    select * from keepstep_job where due is not null and state in (1, 2)
    union all
    select * from keepstep_job where state in (3, 4)
  ),
  caused as (
    select j.*, f.name as flow_name, coalesce(f.width, 0) as width, coalesce(f.taken, 0) as taken, f.job as next_job,
      case
        when j.state = 4 then 'quarantined'
        when j.state = 3 and j.lease < :now then 'held'
        when j.state = 2 and j.lease < :now then 'lapsed'
        when j.state in (2, 3) then 'leased'
        when j.state = 1 and j.due <= :now then 'due'
        when j.state = 1 then 'waiting'
        when f.width = 0 and f.job is not j.id then 'behind'
        when f.job is null and f.width > 0 then 'full'
        when j.definition not in (select id from live) then 'undeclared'
        when f.next_definition not in (select id from live) then 'behind'
        else 'ready'
      end as cause
    from unfinished j
    left join keepstep_flow f on f.id = j.flow
  )

-- name: counts
-- returns: per cause and definition how many, and since when the oldest is in its state
select c.cause, d.digest, d.workflow, count(*), min(c.since)
from caused c
join keepstep_definition d on d.id = c.definition
group by c.cause, c.definition;

-- name: details
-- returns: what names a job and its cause; its flow's head or the job before it; whether its worker lives
select c.cause, c.key, d.workflow, c.flow_name, c.seq, d.digest, c.admitted_at, c.since, c.due, c.lease, c.reason,
  c.cursor, c.attempts, s.budget, s.name, c.generation, c.width, c.taken,
  w.name,
  exists (select 1 from keepstep_presence p where p.worker = c.worker and p.seen_at_ms between :alive_ms and :alive_ms + 6000),
  case when c.cause = 'behind' then coalesce(
    (select h.key from keepstep_job h where h.id = c.next_job and h.id <> c.id),
    (select h.key from keepstep_job h where h.flow = c.flow and h.state in (3, 4) and h.seq < c.seq order by h.seq limit 1),
    (select h.key from keepstep_job h where h.due is not null and h.flow = c.flow and h.seq < c.seq order by h.seq limit 1)
  ) end
from caused c
join keepstep_definition d on d.id = c.definition
left join keepstep_step s on s.definition = c.definition and s.ix = c.cursor
left join keepstep_worker w on w.id = c.worker

-- name: of_job
-- params: job, its identity
where c.key = :job;

-- name: of_cause
-- params: cause; limit
where c.cause = :cause limit :limit;

-- name: of_flow
-- params: flow, its name; limit
where c.flow = (select id from keepstep_flow where name = :flow) order by c.seq limit :limit;

-- name: of_definition
-- params: definition, its digest; limit
where c.definition = (select id from keepstep_definition where digest = :definition) limit :limit;

-- name: coverage
-- params: alive_ms
-- returns: every definition that has a route, unfinished jobs or a live worker; who declares it
select d.digest, d.workflow,
  coalesce((select sum(t.n) from keepstep_tally t where t.definition = d.id and t.state <> 5), 0),
  coalesce((select sum(t.n) from keepstep_tally t where t.definition = d.id and t.state = 5), 0),
  (select r.revision from keepstep_route r where r.definition = d.id),
  (select json_group_array(w.name) from keepstep_presence p, json_each(p.digests) x
    join keepstep_worker w on w.id = p.worker
    where x.value = d.digest and p.seen_at_ms between :alive_ms and :alive_ms + 6000)
from keepstep_definition d
order by d.id;

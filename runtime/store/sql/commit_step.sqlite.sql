-- commit_step: the effect is written and the cursor moves, in one transaction.
-- params: now; ids: JSON array of jobs; rows of `effects`: bound values. returns of `registry`: id, manifest.
-- uses: load_control own facts definitions policies worker new_worker refusals refresh tally control

-- name: registry
select id, cast(manifest as blob) from keepstep_definition where id in (select value from json_each(:ids));

-- name: effects
insert into keepstep_effect (job, step, definition, at, generation, worker, value) values (?, ?, ?, ?, ?, ?, ?);

-- name: advanced
update keepstep_job set state = 0, cursor = cursor + 1, attempts = 0, due = null, lease = null, since = :now,
  worker = null, reason = null
where id in (select value from json_each(:ids));

-- name: done
update keepstep_job set state = 5, cursor = cursor + 1, attempts = 0, due = null, lease = null, since = :now,
  worker = null, reason = null
where id in (select value from json_each(:ids));

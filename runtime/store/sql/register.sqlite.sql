-- register: manifests become definitions.
-- params: digests: JSON array; rows: bound values. returns of `known`: digest, manifest.
-- uses: load_control control

-- name: known
select digest, cast(manifest as blob) from keepstep_definition where digest in (select value from json_each(:digests));

-- name: last
select coalesce(max(id), 0) from keepstep_definition;

-- name: definitions
insert into keepstep_definition (id, digest, workflow, steps, manifest) values (?, ?, ?, ?, ?);

-- name: steps
insert into keepstep_step (definition, ix, name, budget, base, ceiling, lease, time_limit, hold)
values (?, ?, ?, ?, ?, ?, ?, ?, ?);

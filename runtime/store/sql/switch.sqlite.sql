-- switch: where new jobs of a workflow go.
-- params: workflows: JSON array; rows: bound values. returns of `routes`: workflow, definition, revision.
-- uses: load_control definitions policies receipts new_receipts audit control

-- name: routes
select workflow, definition, revision from keepstep_route where workflow in (select value from json_each(:workflows));

-- name: put
insert into keepstep_route (workflow, definition, revision) values (?, ?, ?)
on conflict (workflow) do update set definition = excluded.definition, revision = excluded.revision;

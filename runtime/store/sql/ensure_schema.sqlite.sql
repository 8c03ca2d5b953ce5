-- ensure_schema: an app's own tables, made once.
-- uses: own

-- name: known
select digest from keepstep_app_schema where name = :name;

-- name: add
insert into keepstep_app_schema (name, digest, at_ms) values (:name, :digest, :at_ms);

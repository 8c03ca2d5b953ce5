-- presence: worker processes that say they live, in wall milliseconds.

-- name: announce
insert into keepstep_presence (worker, host, pid, started_at_ms, seen_at_ms, digests, engine)
values (:worker, :host, :pid, :started_at_ms, :now_ms, :digests, :engine)
on conflict (worker) do update set seen_at_ms = excluded.seen_at_ms, digests = excluded.digests;

-- name: forget
delete from keepstep_presence where seen_at_ms < :before_ms;

-- name: withdraw
delete from keepstep_presence where worker = :worker;

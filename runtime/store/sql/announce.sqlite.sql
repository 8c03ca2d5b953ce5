-- announce: worker processes say that they live, in wall milliseconds; those not heard of for long are forgotten.
-- uses: load_control worker new_worker

-- name: put
insert into keepstep_presence (worker, host, pid, started_at_ms, seen_at_ms, digests, engine)
values (:worker, :host, :pid, :started_at_ms, :now_ms, :digests, :engine)
on conflict (worker) do update set seen_at_ms = excluded.seen_at_ms, digests = excluded.digests;

-- name: forget
delete from keepstep_presence where seen_at_ms < :before_ms;

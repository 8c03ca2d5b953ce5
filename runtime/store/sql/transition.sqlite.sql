-- transition: the barrier's commands. `unfinished` is the truth itself: probes of indexes, not a counter.
-- uses: load_control receipts new_receipts audit control

-- name: unfinished
select exists (select 1 from keepstep_job where state = 0 and served is null and flow > 0)
  or exists (select 1 from keepstep_job where state = 0 and served is not null and definition > 0)
  or exists (select 1 from keepstep_job where due is not null)
  or exists (select 1 from keepstep_job where state in (3, 4) and flow >= 0);

-- name: by_state
select state, sum(n) from keepstep_tally where state < 5 group by state having sum(n) <> 0;

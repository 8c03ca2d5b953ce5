-- set: audited settings of the store and of one flow.
-- params: name or flow, width.
-- uses: load_control receipts new_receipts audit refresh control

-- name: flow
select id, width, taken from keepstep_flow where name = :name;

-- name: not_ready
select state, seq from keepstep_job where due is not null and flow = :flow
union all
select state, seq from keepstep_job where state in (3, 4) and flow = :flow;

-- name: first_ready
select min(seq) from keepstep_job where flow = :flow and state = 0 and served is null;

-- name: width
update keepstep_flow set width = :width, taken = :taken where id = :flow;

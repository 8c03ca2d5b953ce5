-- inbox: the receiver's setting and what people read of it.

-- name: first_setting
-- params: max_delta
insert into inbox_setting (id, max_delta) values (1, :max_delta) on conflict do nothing;

-- name: max_delta
select max_delta from inbox_setting;

-- name: totals
-- returns: each flow's name and total
select flow, total from inbox_flow order by flow;

-- name: receipts
-- returns: everything that stands, by id
select event_id, flow, seq, body from inbox_receipt order by event_id;

-- name: flows
-- returns: each flow's name, next sequence number and total
select flow, next_seq, total from inbox_flow order by flow;

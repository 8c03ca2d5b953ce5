-- receive: what the receiver does with deliveries, in one write transaction (contract §10).
-- The facts of a batch are read first, the rules judge them, what was accepted is written: the receipt, then its effect.
-- uses:

-- name: capability
-- returns: the receiver's present max_delta
select max_delta from inbox_setting;

-- name: facts
-- params: batch, a JSON array of [event id, flow, seq]
-- returns: per item its id, flow and seq; flow, seq and body of the receipt under its id; the id that holds its place;
-- the flow's next sequence number and total
select t.value ->> 0, t.value ->> 1, t.value ->> 2, r.flow, r.seq, r.body, o.event_id, f.next_seq, f.total
from json_each(:batch) t
left join inbox_receipt r on r.event_id = t.value ->> 0
left join inbox_receipt o on o.flow = t.value ->> 1 and o.seq = t.value ->> 2
left join inbox_flow f on f.flow = t.value ->> 1;

-- name: keep
-- params: event_id, flow, seq, body
insert into inbox_receipt (event_id, flow, seq, body) values (:event_id, :flow, :seq, :body);

-- name: apply
-- params: flow, next_seq, total: the flow as it stands after its last message of the batch
insert into inbox_flow (flow, next_seq, total) values (:flow, :next_seq, :total)
on conflict (flow) do update set next_seq = excluded.next_seq, total = excluded.total;

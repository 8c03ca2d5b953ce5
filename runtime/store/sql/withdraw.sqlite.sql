-- withdraw: worker processes that have ended.

-- name: take_out
delete from keepstep_presence where worker = :worker;

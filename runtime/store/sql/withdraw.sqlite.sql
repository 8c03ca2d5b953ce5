-- withdraw: worker processes that have ended.
-- uses: load_control worker new_worker

-- name: take_out
delete from keepstep_presence where worker = :worker;

-- set_max_delta: the receiver's capability is raised or lowered.
-- uses:

-- name: put
-- params: max_delta
update inbox_setting set max_delta = :max_delta;

-- The first schema: definitions, routes, the barrier, flows with their dispatch state, jobs, effects, and what is kept of them.

-- name: definition
create table keepstep_definition (
  id integer primary key,
  digest text not null unique,
  workflow text not null,
  steps integer not null,
  manifest text not null
) strict;

-- name: step
create table keepstep_step (
  definition integer not null references keepstep_definition (id),
  ix integer not null,
  name text not null,
  budget integer not null,
  base integer not null,
  ceiling integer not null,
  lease integer not null,
  time_limit integer not null,
  hold integer not null,
  primary key (definition, ix)
) strict, without rowid;

-- name: route
create table keepstep_route (
  workflow text primary key,
  definition integer not null references keepstep_definition (id),
  revision integer not null
) strict, without rowid;

-- name: control
create table keepstep_control (
  id integer primary key check (id = 1),
  store_id text not null,
  clock text not null check (clock in ('wall', 'logical')),
  tick integer not null default 0,
  mode text not null default 'open' check (mode in ('open', 'draining', 'paused')),
  version integer not null default 0,
  pause_version integer,
  ticket integer not null default 0,
  unfinished integer not null default 0,
  effects integer not null default 0,
  releases integer not null default 0,
  last_job integer not null default 0,
  last_flow integer not null default 0,
  capacity integer,
  flow_capacity integer,
  newcomers text not null default 'behind' check (newcomers in ('behind', 'first')),
  created_at integer not null
) strict;

-- name: worker
create table keepstep_worker (
  id integer primary key,
  name text not null unique
) strict;

-- name: flow
-- width 0 is an ordered flow, k a free one; `job` and `next_definition` are set while a job of it may be claimed.
create table keepstep_flow (
  id integer primary key,
  name text,
  width integer not null,
  served integer not null,
  next_seq integer not null,
  unfinished integer not null,
  taken integer not null,
  job integer,
  next_definition integer
) strict;

-- name: flow_name
create unique index keepstep_flow_name on keepstep_flow (name) where name is not null;

-- name: flow_turn
create index keepstep_flow_turn on keepstep_flow (next_definition, served) where next_definition is not null;

-- name: job
-- state: 0 ready, 1 waiting, 2 in flight, 3 in flight under hold, 4 quarantined, 5 done.
-- due: when the clock acts on it; lease: the last tick at which its claim's lease is live, kept after a lapse is swept.
create table keepstep_job (
  id integer primary key,
  key text not null,
  flow integer not null,
  seq integer not null,
  accepted integer not null references keepstep_definition (id),
  definition integer not null references keepstep_definition (id),
  binding integer not null default 0,
  state integer not null default 0 check (state between 0 and 5),
  cursor integer not null default 0,
  generation integer not null default 0,
  attempts integer not null default 0,
  lifetime integer not null default 0,
  due integer,
  lease integer,
  since integer,
  worker integer,
  reason text,
  admitted_at integer not null,
  check ((state in (1, 2)) = (due is not null)),
  check (state not in (2, 3) or (lease is not null and worker is not null and since is not null)),
  check (state <> 4 or reason is not null)
) strict;

-- name: job_key
create unique index keepstep_job_key on keepstep_job (key);

-- name: job_ready
create index keepstep_job_ready on keepstep_job (flow, seq) where state = 0;

-- name: job_due
create index keepstep_job_due on keepstep_job (due) where due is not null;

-- name: job_parked
create index keepstep_job_parked on keepstep_job (flow, seq) where state in (3, 4);

-- name: payload
create table keepstep_payload (
  job integer primary key,
  body text not null
) strict;

-- name: effect
create table keepstep_effect (
  job integer not null,
  step integer not null,
  definition integer not null,
  at integer not null,
  generation integer not null,
  worker integer,
  value text not null,
  primary key (job, step)
) strict, without rowid;

-- name: history
create table keepstep_history (
  id integer primary key,
  job integer not null,
  step integer not null,
  generation integer not null,
  worker integer,
  at integer not null,
  what text not null check (what in ('failed', 'lapsed', 'refused', 'released', 'quarantined')),
  why text,
  times integer not null default 1,
  last_at integer not null
) strict;

-- name: history_job
create index keepstep_history_job on keepstep_history (job);

-- name: history_refusal
create unique index keepstep_history_refusal on keepstep_history (job, generation, why) where what = 'refused';

-- name: audit
create table keepstep_audit (
  id integer primary key,
  at integer not null,
  actor text not null,
  verb text not null,
  job integer,
  subject text not null,
  before text not null,
  after text not null,
  reason text,
  command_id text
) strict;

-- name: audit_job
create index keepstep_audit_job on keepstep_audit (job) where job is not null;

-- name: receipt
create table keepstep_receipt (
  command_id text primary key,
  verb text not null,
  arguments text not null,
  outcome text not null
) strict, without rowid;

-- name: tally
create table keepstep_tally (
  definition integer not null,
  state integer not null,
  n integer not null,
  primary key (definition, state)
) strict, without rowid;

-- name: presence
create table keepstep_presence (
  worker integer primary key references keepstep_worker (id),
  host text not null,
  pid integer not null,
  started_at_ms integer not null,
  seen_at_ms integer not null,
  digests text not null,
  engine text not null
) strict;

-- name: app_schema
create table keepstep_app_schema (
  name text primary key,
  digest text not null,
  at_ms integer not null
) strict, without rowid;

-- name: schema
create table keepstep_schema (
  version integer primary key,
  name text not null,
  at_ms integer not null
) strict;

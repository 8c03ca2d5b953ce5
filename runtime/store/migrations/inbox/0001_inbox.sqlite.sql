-- The receiver's file, schema 1: what it has received, and what that added up to.

-- name: setting
create table inbox_setting (
  id integer primary key check (id = 1),
  max_delta integer not null
) strict;

-- name: receipt
create table inbox_receipt (
  event_id text primary key,
  flow text not null,
  seq integer not null,
  body text not null,
  unique (flow, seq)
) strict, without rowid;

-- name: flow
create table inbox_flow (
  flow text primary key,
  next_seq integer not null,
  total integer not null
) strict, without rowid;

-- name: schema
create table inbox_schema (
  version integer primary key,
  name text not null,
  at_ms integer not null
) strict;

-- +goose Up
-- The servers of alignments that asked to be left alone: no worker queries them before.
CREATE TABLE msa_pause (
    server       text PRIMARY KEY, -- host, and port if any
    paused_until bigint NOT NULL
);

-- +goose Up
-- Only queries for the queued tasks of a tenant have the conditions of this index; see tasks.QueuedBy.
DROP INDEX task_share;
CREATE INDEX task_share ON task (queue, tenant, position) WHERE state < 'r' AND tenant > '';

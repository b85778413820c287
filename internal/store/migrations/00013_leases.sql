-- Heartbeats change lease_until alone. Without an index on it, PostgreSQL replaces a row within its page (HOT), and
-- heartbeats leave no dead index entries. The leases that have expired are found among the running tasks.

-- +goose Up
DROP INDEX task_leased;
CREATE INDEX task_running ON task (id) WHERE state = 'running';

-- +goose Down
DROP INDEX task_running;
CREATE INDEX task_leased ON task (lease_until) WHERE state = 'running';

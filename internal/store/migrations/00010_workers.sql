-- When a worker stopped in order (0: it has not), and which request created a task, for the log of the worker.

-- +goose Up
ALTER TABLE worker ADD COLUMN stopped_at bigint NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN request text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE task DROP COLUMN request;
ALTER TABLE worker DROP COLUMN stopped_at;

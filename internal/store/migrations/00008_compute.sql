-- How many workflows an account has started today, beside its jobs.

-- +goose Up
ALTER TABLE quota_day ADD COLUMN workflows bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE quota_day DROP COLUMN workflows;

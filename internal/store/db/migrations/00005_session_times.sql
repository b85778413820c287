-- +goose Up
-- The times of sessions that a clock which was ahead has left are looked for when a node starts.
CREATE INDEX session_began ON session (created_at);

-- +goose Up
-- A commercial project may use only models whose weights allow commercial use.
ALTER TABLE project ADD COLUMN commercial bigint NOT NULL DEFAULT 0;

-- The statements of a claim find its tasks by its id, so that they can be sent together with the one that claims them.
-- +goose Up
ALTER TABLE task ADD COLUMN claim text NOT NULL DEFAULT '';
CREATE INDEX task_claim ON task (claim) WHERE state = 'running';
-- +goose Down
DROP INDEX task_claim;
ALTER TABLE task DROP COLUMN claim;

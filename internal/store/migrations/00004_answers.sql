-- Same input, same answer: what a run's files depend on, in one hash, so that a later run of the same may be answered from them.

-- +goose Up
ALTER TABLE run ADD COLUMN input text NOT NULL DEFAULT ''; -- empty: not known, or its results are not to be used again
ALTER TABLE run ADD COLUMN fresh bigint NOT NULL DEFAULT 0; -- its owner wants it computed
CREATE INDEX run_input ON run (input) WHERE input <> '';

-- +goose Down
DROP INDEX run_input;
ALTER TABLE run DROP COLUMN fresh;
ALTER TABLE run DROP COLUMN input;

-- The trace that created a run, as the text of W3C Trace Context: whoever works on the run continues it.

-- +goose Up
ALTER TABLE run ADD COLUMN trace text NOT NULL DEFAULT ''; -- empty: none

-- +goose Down
ALTER TABLE run DROP COLUMN trace;

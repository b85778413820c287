-- What a run was asked to compute, so that a request can be told of an earlier answer before it is made.

-- +goose Up
ALTER TABLE run ADD COLUMN request_hash text NOT NULL DEFAULT ''; -- empty: not completed, or without a seed
CREATE INDEX run_request ON run (account_id, request_hash) WHERE request_hash <> '';

-- +goose Down
DROP INDEX run_request;
ALTER TABLE run DROP COLUMN request_hash;

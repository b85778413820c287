-- +goose Up
-- The path of a receiver's address may be its secret. The whole address is sealed, and scheme and host stay readable.
-- Rows with an origin and without an address are of before: the first node that starts with the secret key seals them.
ALTER TABLE endpoint RENAME COLUMN url TO origin;
ALTER TABLE endpoint ADD COLUMN address text NOT NULL DEFAULT ''; -- sealed; empty: none

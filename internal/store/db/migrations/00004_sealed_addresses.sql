-- +goose Up
-- The path of a webhook receiver's address may be a secret. The column address stores the whole address, encrypted. The
-- column origin stores scheme and host in the clear.
-- Older rows have the whole address in origin and nothing in address. The first node that starts with the secret key
-- encrypts them.
ALTER TABLE endpoint RENAME COLUMN url TO origin;
ALTER TABLE endpoint ADD COLUMN address text NOT NULL DEFAULT ''; -- sealed; empty: none

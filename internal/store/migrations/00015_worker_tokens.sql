-- Tokens with which workers of one class register, and by which of them a worker did. Such a worker speaks to a server
-- and has no address of the database.

-- +goose Up
ALTER TABLE fleet_token ADD COLUMN class text NOT NULL DEFAULT ''; -- of the workers; empty: the kind has no class
ALTER TABLE worker ADD COLUMN token text NOT NULL DEFAULT '';      -- hash; empty: it has the database's address

-- +goose Down
ALTER TABLE worker DROP COLUMN token;
ALTER TABLE fleet_token DROP COLUMN class;

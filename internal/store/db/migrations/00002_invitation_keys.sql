-- +goose Up
-- An invitation gives no more than the key with which it was made.
ALTER TABLE invitation ADD COLUMN key_id text NOT NULL DEFAULT ''; -- empty: it was made by a login, or on the database

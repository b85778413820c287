-- What a key may do and until when; who changed keys, sessions and endpoints.

-- +goose Up
ALTER TABLE api_key ADD COLUMN scopes text NOT NULL DEFAULT 'read submit manage';
ALTER TABLE api_key ADD COLUMN expires_at bigint NOT NULL DEFAULT 0; -- 0: never
ALTER TABLE session ADD COLUMN created_at bigint NOT NULL DEFAULT 0;
CREATE INDEX session_key ON session (key_id, created_at);

CREATE TABLE audit (
    id         text PRIMARY KEY,
    account_id text NOT NULL,
    key_id     text NOT NULL, -- who made the change; empty: an operator, on the database
    prefix     text NOT NULL, -- of that key
    address    text NOT NULL,
    action     text NOT NULL,
    subject    text NOT NULL, -- what was changed: the prefix of a key, or the origin of an endpoint
    detail     text NOT NULL,
    created_at bigint NOT NULL
);
CREATE INDEX audit_page ON audit (account_id, id);
CREATE INDEX audit_action ON audit (account_id, action, id);

-- +goose Down
DROP TABLE audit;
DROP INDEX session_key;
ALTER TABLE session DROP COLUMN created_at;
ALTER TABLE api_key DROP COLUMN expires_at;
ALTER TABLE api_key DROP COLUMN scopes;

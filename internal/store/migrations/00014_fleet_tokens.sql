-- Tokens of programs that scale the workers. They are no users' keys: they can read the demand for workers, and nothing
-- else.

-- +goose Up
CREATE TABLE fleet_token (
    hash       text PRIMARY KEY, -- SHA-256 in hexadecimal
    kind       text NOT NULL,    -- demand
    created_at bigint NOT NULL
);

-- +goose Down
DROP TABLE fleet_token;

-- What all processes of a service must agree on: the artifact store and the secret keys.

-- +goose Up
CREATE TABLE service (
    name  text PRIMARY KEY,
    value text NOT NULL -- JSON
);

-- +goose Down
DROP TABLE service;

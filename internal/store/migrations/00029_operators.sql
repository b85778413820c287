-- Models whose tasks are not claimed, because operators have paused them.
-- +goose Up
CREATE TABLE paused_model (
    model     text PRIMARY KEY,
    reason    text NOT NULL,
    paused_by text NOT NULL, -- the account that gave the reason; empty: who worked on the database
    paused_at bigint NOT NULL
);
-- The queues of these models, by which a claim looks.
CREATE TABLE paused_queue (
    queue text PRIMARY KEY,
    model text NOT NULL
);

-- +goose Down
DROP TABLE paused_queue;
DROP TABLE paused_model;

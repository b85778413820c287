-- Batches: many jobs that are created, watched and ended together. Their jobs are not in the list of a user's jobs.
-- +goose Up
CREATE TABLE batch (
    id           text PRIMARY KEY,
    account_id   text NOT NULL,
    name         text NOT NULL,
    kind         text NOT NULL,
    model        text NOT NULL,
    public       bigint NOT NULL,
    source       text NOT NULL,   -- the batch that this one repeats; empty: none
    row_count    bigint NOT NULL, -- as given
    job_count    bigint NOT NULL, -- of different rows
    jobs_made    bigint NOT NULL, -- of them, those that exist
    next_row     bigint NOT NULL, -- before which every row has its job
    each_row     bigint NOT NULL, -- the subscriptions are for the event of each row, too
    cancelled    bigint NOT NULL,
    retry_before bigint NOT NULL, -- failed jobs that were last changed before are run again; 0: none
    request      text NOT NULL,   -- id of the request that created it
    trace        text NOT NULL,
    created_at   bigint NOT NULL,
    opened_at    bigint NOT NULL, -- when all its rows were stored; 0: nobody sees it
    ended_at     bigint NOT NULL,
    counts       text NOT NULL,   -- of the rows by state once it has ended, as JSON; empty before
    deleted_at   bigint NOT NULL
);
CREATE INDEX batch_page ON batch (account_id, id) WHERE deleted_at = 0 AND opened_at <> 0;
CREATE INDEX batch_open ON batch (id) WHERE ended_at = 0 AND deleted_at = 0;
CREATE INDEX batch_deleted ON batch (deleted_at) WHERE deleted_at <> 0;

CREATE TABLE batch_row (
    batch_id  text NOT NULL,
    number    bigint NOT NULL, -- from 1
    custom_id text NOT NULL,
    same_as   bigint NOT NULL, -- the first row that is equal, whose job this row shares; its own number: none is
    input     text NOT NULL,   -- of the job; empty in a row that shares one
    PRIMARY KEY (batch_id, number)
);
CREATE INDEX batch_row_same ON batch_row (batch_id, same_as, number) WHERE same_as <> number;

CREATE TABLE batch_score (
    batch_id text NOT NULL,
    number   bigint NOT NULL, -- of the row
    name     text NOT NULL,
    value    double precision NOT NULL,
    PRIMARY KEY (number, batch_id, name) -- no index but the next begins with the batch, so that none is mistaken for it
);
CREATE INDEX batch_score_order ON batch_score (batch_id, name, value, number);

ALTER TABLE job ADD COLUMN batch_id text NOT NULL DEFAULT ''; -- empty: a job of its own
ALTER TABLE job ADD COLUMN batch_row bigint NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN batch_rows bigint NOT NULL DEFAULT 0; -- that share it
CREATE UNIQUE INDEX job_batch_row ON job (batch_id, batch_row) WHERE batch_id <> '';
CREATE INDEX job_batch_state ON job (state, batch_id, batch_row, batch_rows) WHERE batch_id <> '';
DROP INDEX job_page;
DROP INDEX job_state;
CREATE INDEX job_page ON job (account_id, id) WHERE deleted_at = 0 AND batch_id = '';
CREATE INDEX job_state ON job (account_id, state, id) WHERE deleted_at = 0 AND batch_id = '';

ALTER TABLE quota_day ADD COLUMN batch_rows bigint NOT NULL DEFAULT 0;
-- +goose Down
ALTER TABLE quota_day DROP COLUMN batch_rows;
DROP INDEX job_state;
DROP INDEX job_page;
CREATE INDEX job_page ON job (account_id, id) WHERE deleted_at = 0;
CREATE INDEX job_state ON job (account_id, state, id) WHERE deleted_at = 0;
DROP INDEX job_batch_state;
DROP INDEX job_batch_row;
ALTER TABLE job DROP COLUMN batch_rows;
ALTER TABLE job DROP COLUMN batch_row;
ALTER TABLE job DROP COLUMN batch_id;
DROP TABLE batch_score;
DROP TABLE batch_row;
DROP TABLE batch;

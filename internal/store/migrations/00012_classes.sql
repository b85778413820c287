-- Classes of workers, how long a task is expected to take, and which process does what only one may do.

-- +goose Up
CREATE TABLE class (
    name     text PRIMARY KEY,
    position bigint NOT NULL,          -- in the list of classes: of two that could run a task, the first is asked
    spec     text NOT NULL,            -- JSON
    fleet    text NOT NULL DEFAULT ''  -- JSON: what the fleet last reported; empty: nothing
);
CREATE TABLE leader (
    role   text PRIMARY KEY,
    holder text NOT NULL,
    until  bigint NOT NULL
);
-- How the tasks of a queue compare with the manifest's speed on the workers of a class.
CREATE TABLE speed (
    queue   text NOT NULL,
    class   text NOT NULL,
    factor  double precision NOT NULL, -- measured time in expected times; 1 until one was measured
    typical bigint NOT NULL,           -- measured time of a task
    runs    bigint NOT NULL,           -- that were measured
    PRIMARY KEY (queue, class)
);
ALTER TABLE worker ADD COLUMN class text NOT NULL DEFAULT 'default';
ALTER TABLE worker ADD COLUMN cluster_job text NOT NULL DEFAULT ''; -- that the process is; empty: none
ALTER TABLE worker ADD COLUMN ends_at bigint NOT NULL DEFAULT 0;    -- 0: unknown
ALTER TABLE worker ADD COLUMN draining_at bigint NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN expected bigint NOT NULL DEFAULT 0;     -- by the manifest's speed; 0: unknown

-- +goose Down
ALTER TABLE task DROP COLUMN expected;
ALTER TABLE worker DROP COLUMN draining_at;
ALTER TABLE worker DROP COLUMN ends_at;
ALTER TABLE worker DROP COLUMN cluster_job;
ALTER TABLE worker DROP COLUMN class;
DROP TABLE speed;
DROP TABLE leader;
DROP TABLE class;

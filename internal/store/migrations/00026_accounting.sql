-- What projects have spent, by day, user and model, and how much they may spend in a month.
-- +goose Up
-- GPUs and cores that an attempt had; NULL: unknown.
ALTER TABLE attempt ADD COLUMN gpus bigint;
ALTER TABLE attempt ADD COLUMN cores bigint;
-- The same of a task by the queue, on each worker.
CREATE TABLE worker_use (
    worker_id text NOT NULL,
    queue     text NOT NULL,
    gpus      bigint,
    cores     bigint,
    PRIMARY KEY (worker_id, queue)
);
CREATE INDEX worker_use_queue ON worker_use (queue, gpus, cores);

ALTER TABLE run ADD COLUMN created_by text NOT NULL DEFAULT ''; -- empty: the user whose own project owned it
ALTER TABLE run ADD COLUMN tokens bigint NOT NULL DEFAULT 0;    -- of the input of a fold

-- The sum over the parts counts, as in result_use. Times are in µs. The rows stay when jobs are deleted.
CREATE TABLE usage_day (
    project_id text NOT NULL,
    day        bigint NOT NULL, -- UTC, since 1970, on which an attempt or a run has ended
    account_id text NOT NULL,   -- who created the run
    model      text NOT NULL,
    part       bigint NOT NULL,
    attempts   bigint NOT NULL, -- at runs, that have ended
    wall       bigint NOT NULL, -- of these
    gpu        bigint NOT NULL, -- wall time by GPUs, where they are known
    cpu        bigint NOT NULL, -- wall time by cores, where they are known
    no_gpu     bigint NOT NULL, -- wall time of attempts whose GPUs are unknown
    no_cpu     bigint NOT NULL, -- wall time of attempts whose cores are unknown
    runs       bigint NOT NULL, -- that have completed
    tokens     bigint NOT NULL, -- of these
    bytes      bigint NOT NULL, -- of the files of runs when they ended
    PRIMARY KEY (project_id, day, account_id, model, part)
);
CREATE INDEX usage_day_day ON usage_day (day);
INSERT INTO usage_day (
    project_id, day, account_id, model, part, attempts, wall, gpu, cpu, no_gpu, no_cpu, runs, tokens, bytes)
SELECT r.project_id, a.ended_at / 86400000000, r.project_id, r.model, 0, count(*), CAST(sum(a.wall) AS bigint), 0, 0,
    CAST(sum(a.wall) AS bigint), CAST(sum(a.wall) AS bigint), 0, 0, 0
FROM (
    SELECT run_id, ended_at, CASE WHEN ended_at > started_at THEN ended_at - started_at ELSE 0 END AS wall
    FROM attempt
    WHERE ended_at <> 0 AND run_id IS NOT NULL
) AS a
JOIN run r ON r.id = a.run_id
GROUP BY r.project_id, a.ended_at / 86400000000, r.model;

-- What a project may spend in a month, in µs; negative: without a limit.
ALTER TABLE project ADD COLUMN budget_gpu bigint NOT NULL DEFAULT -1;
ALTER TABLE project ADD COLUMN budget_cpu bigint NOT NULL DEFAULT -1;
-- What the jobs of a batch are expected to take together, and the queue in which they compute.
ALTER TABLE batch ADD COLUMN expected bigint NOT NULL DEFAULT 0;
ALTER TABLE batch ADD COLUMN queue text NOT NULL DEFAULT '';
-- Adds up what the tasks of a project are expected to take.
CREATE INDEX task_expected ON task (project_id, queue, expected) WHERE expected > 0;

-- +goose Down
DROP INDEX task_expected;
ALTER TABLE batch DROP COLUMN queue;
ALTER TABLE batch DROP COLUMN expected;
ALTER TABLE project DROP COLUMN budget_cpu;
ALTER TABLE project DROP COLUMN budget_gpu;
DROP TABLE usage_day;
ALTER TABLE run DROP COLUMN tokens;
ALTER TABLE run DROP COLUMN created_by;
DROP TABLE worker_use;
ALTER TABLE attempt DROP COLUMN cores;
ALTER TABLE attempt DROP COLUMN gpus;

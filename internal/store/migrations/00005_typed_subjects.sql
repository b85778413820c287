-- Columns that hold one kind of id each: a run belongs to a job or to a workflow, a task works on a run or on a delivery,
-- and an artifact belongs to its run alone. Exactly one of two such columns is not NULL. Columns get standard names.

-- +goose Up
CREATE TABLE run_typed (
    id          text NOT NULL,
    job_id      text, -- of a fold
    workflow_id text, -- of a question or a simulation
    account_id  text NOT NULL,
    number      bigint NOT NULL,
    kind        text NOT NULL, -- fold, qna or md
    state       text NOT NULL,
    msa         text NOT NULL,
    model       text NOT NULL,
    weight_set  text NOT NULL,
    method      text NOT NULL,
    engine      text NOT NULL,
    seed        text NOT NULL,
    params      text NOT NULL,
    fresh       bigint NOT NULL, -- 1: its owner does not accept a cached result
    input_hash  text NOT NULL, -- empty: unknown, or the result must not be reused
    result      text NOT NULL,
    failure     text NOT NULL,
    stage       text NOT NULL,
    done        bigint NOT NULL,
    total       bigint NOT NULL,
    event_seq   bigint NOT NULL,
    log_lines   bigint NOT NULL,
    created_at  bigint NOT NULL,
    started_at  bigint NOT NULL,
    finished_at bigint NOT NULL,
    changed_at  bigint NOT NULL,
    CONSTRAINT run_id PRIMARY KEY (id)
);
INSERT INTO run_typed (
    id, job_id, workflow_id, account_id, number, kind, state, msa, model, weight_set, method, engine, seed, params, fresh,
    input_hash, result, failure, stage, done, total, event_seq, log_lines, created_at, started_at, finished_at, changed_at)
SELECT
    id, CASE WHEN kind = 'fold' THEN job_id END, CASE WHEN kind <> 'fold' THEN job_id END, account_id, number, kind, state,
    msa, model, weight_set, method, engine, seed, params, fresh, input, result, failure, stage, done, total, event_seq,
    log_lines, created_at, started_at, finished_at, changed_at
FROM run;
DROP TABLE run;
ALTER TABLE run_typed RENAME TO run;
CREATE INDEX run_job ON run (job_id, number) WHERE job_id IS NOT NULL;
CREATE INDEX run_news ON run (account_id, changed_at);
CREATE INDEX run_input ON run (input_hash) WHERE input_hash <> '';

DROP INDEX artifact_job;
ALTER TABLE artifact DROP COLUMN job_id;

ALTER TABLE task RENAME COLUMN lane TO queue;
ALTER TABLE task RENAME COLUMN share TO tenant;
ALTER TABLE task RENAME COLUMN turn TO position;
ALTER TABLE task ADD COLUMN run_id text;
ALTER TABLE task ADD COLUMN delivery_id text;
UPDATE task SET
    run_id = CASE WHEN kind NOT IN ('deliver', 'follow') THEN subject END,
    delivery_id = CASE WHEN kind IN ('deliver', 'follow') THEN subject END;
DROP INDEX task_subject;
ALTER TABLE task DROP COLUMN subject;
CREATE INDEX task_run ON task (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX task_delivery ON task (delivery_id) WHERE delivery_id IS NOT NULL;

ALTER TABLE worker RENAME COLUMN lanes TO queues;
ALTER TABLE subscription RENAME COLUMN word TO alias;
ALTER TABLE workflow RENAME COLUMN word TO alias;

-- +goose Down
ALTER TABLE workflow RENAME COLUMN alias TO word;
ALTER TABLE subscription RENAME COLUMN alias TO word;
ALTER TABLE worker RENAME COLUMN queues TO lanes;

ALTER TABLE task ADD COLUMN subject text NOT NULL DEFAULT '';
UPDATE task SET subject = COALESCE(run_id, delivery_id);
DROP INDEX task_delivery;
DROP INDEX task_run;
ALTER TABLE task DROP COLUMN delivery_id;
ALTER TABLE task DROP COLUMN run_id;
CREATE INDEX task_subject ON task (subject);
ALTER TABLE task RENAME COLUMN position TO turn;
ALTER TABLE task RENAME COLUMN tenant TO share;
ALTER TABLE task RENAME COLUMN queue TO lane;

ALTER TABLE artifact ADD COLUMN job_id text NOT NULL DEFAULT '';
UPDATE artifact SET job_id = (SELECT COALESCE(r.job_id, r.workflow_id) FROM run r WHERE r.id = artifact.run_id);
CREATE INDEX artifact_job ON artifact (job_id);

CREATE TABLE run_untyped (
    id          text NOT NULL,
    job_id      text NOT NULL,
    account_id  text NOT NULL,
    number      bigint NOT NULL,
    state       text NOT NULL,
    msa         text NOT NULL,
    model       text NOT NULL,
    weight_set  text NOT NULL,
    method      text NOT NULL,
    engine      text NOT NULL,
    seed        text NOT NULL,
    params      text NOT NULL,
    result      text NOT NULL,
    failure     text NOT NULL,
    stage       text NOT NULL,
    done        bigint NOT NULL,
    total       bigint NOT NULL,
    event_seq   bigint NOT NULL,
    log_lines   bigint NOT NULL,
    created_at  bigint NOT NULL,
    started_at  bigint NOT NULL,
    finished_at bigint NOT NULL,
    changed_at  bigint NOT NULL,
    kind        text NOT NULL DEFAULT 'fold',
    input       text NOT NULL DEFAULT '',
    fresh       bigint NOT NULL DEFAULT 0,
    CONSTRAINT run_pk PRIMARY KEY (id)
);
INSERT INTO run_untyped (
    id, job_id, account_id, number, state, msa, model, weight_set, method, engine, seed, params, result, failure, stage, done,
    total, event_seq, log_lines, created_at, started_at, finished_at, changed_at, kind, input, fresh)
SELECT
    id, COALESCE(job_id, workflow_id), account_id, number, state, msa, model, weight_set, method, engine, seed, params, result,
    failure, stage, done, total, event_seq, log_lines, created_at, started_at, finished_at, changed_at, kind, input_hash, fresh
FROM run;
DROP TABLE run;
ALTER TABLE run_untyped RENAME TO run;
CREATE INDEX run_job ON run (job_id, number);
CREATE INDEX run_news ON run (account_id, changed_at);
CREATE INDEX run_input ON run (input) WHERE input <> '';

-- The house: who asks, what was asked, each go at it, the queue, what came of it.
-- One text for SQLite and PostgreSQL. Times are microseconds since 1970 UTC, 0 for "not yet"; booleans are 0 and 1; JSON is text.

-- +goose Up
CREATE TABLE account (
    id         text PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    quota      bigint NOT NULL, -- calls per day; negative: the service's default
    created_at bigint NOT NULL
);

CREATE TABLE api_key (
    id           text PRIMARY KEY,
    account_id   text NOT NULL REFERENCES account (id),
    prefix       text NOT NULL,
    hash         text NOT NULL UNIQUE,
    label        text NOT NULL,
    created_at   bigint NOT NULL,
    last_used_at bigint NOT NULL,
    revoked_at   bigint NOT NULL
);
CREATE INDEX api_key_account ON api_key (account_id);

CREATE TABLE session (
    hash       text PRIMARY KEY,
    key_id     text NOT NULL REFERENCES api_key (id),
    expires_at bigint NOT NULL
);
CREATE INDEX session_expiry ON session (expires_at);

CREATE TABLE quota_day (
    account_id text NOT NULL,
    day        bigint NOT NULL, -- days since 1970 UTC
    used       bigint NOT NULL,
    PRIMARY KEY (account_id, day)
);

CREATE TABLE idempotency (
    account_id text NOT NULL,
    key        text NOT NULL,
    digest     text NOT NULL,
    answer     text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE job (
    id           text PRIMARY KEY,
    account_id   text NOT NULL,
    name         text NOT NULL,
    public       bigint NOT NULL,
    chat_id      text NOT NULL,
    library_item text NOT NULL,
    sequences    text NOT NULL,
    constraints  text NOT NULL,
    complex      bigint NOT NULL,
    state        text NOT NULL,
    version      bigint NOT NULL,
    epoch        bigint NOT NULL,
    run_id       text NOT NULL, -- the latest
    runs         bigint NOT NULL,
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    deleted_at   bigint NOT NULL
);
CREATE INDEX job_page ON job (account_id, id) WHERE deleted_at = 0;
CREATE INDEX job_state ON job (account_id, state, id) WHERE deleted_at = 0;

CREATE TABLE run (
    id          text PRIMARY KEY,
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
    changed_at  bigint NOT NULL
);
CREATE INDEX run_job ON run (job_id, number);
CREATE INDEX run_news ON run (account_id, changed_at);

CREATE TABLE run_event (
    run_id text NOT NULL,
    seq    bigint NOT NULL,
    body   text NOT NULL,
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE artifact (
    id           text PRIMARY KEY,
    run_id       text NOT NULL,
    job_id       text NOT NULL,
    sequence_id  text NOT NULL,
    name         text NOT NULL,
    kind         text NOT NULL,
    content_type text NOT NULL,
    bytes        bigint NOT NULL,
    sha256       text NOT NULL,
    blob_key     text NOT NULL,
    attempt      bigint NOT NULL,
    created_at   bigint NOT NULL
);
CREATE UNIQUE INDEX artifact_name ON artifact (run_id, name);
CREATE INDEX artifact_blob ON artifact (blob_key);
CREATE INDEX artifact_job ON artifact (job_id);

-- The queue. Folds, workflow tasks and deliveries are kinds of task; there is no other queue.
CREATE TABLE task (
    id              text PRIMARY KEY,
    kind            text NOT NULL,
    lane            text NOT NULL, -- what a worker must be able to do
    account_id      text NOT NULL,
    share           text NOT NULL, -- whose turn it takes
    turn            bigint NOT NULL,
    subject         text NOT NULL, -- run, workflow task or delivery
    state           text NOT NULL,
    attempt         bigint NOT NULL, -- the fence: rises with every claim
    tries           bigint NOT NULL, -- attempts that were lost or failed and may be repeated
    max_tries       bigint NOT NULL,
    memory          bigint NOT NULL,
    run_at          bigint NOT NULL,
    lease_until     bigint NOT NULL,
    worker_id       text NOT NULL,
    cancel          bigint NOT NULL,
    checkpoint      text NOT NULL,
    checkpoint_step bigint NOT NULL,
    created_at      bigint NOT NULL,
    ended_at        bigint NOT NULL
);
CREATE INDEX task_ready ON task (lane, turn, id) WHERE state = 'queued';
CREATE INDEX task_share ON task (lane, share, turn) WHERE state = 'queued';
CREATE INDEX task_waiting ON task (run_at) WHERE state = 'waiting';
CREATE INDEX task_leased ON task (lease_until) WHERE state = 'running';
CREATE INDEX task_held ON task (worker_id) WHERE state = 'running';
CREATE INDEX task_subject ON task (subject);
CREATE INDEX task_checkpoint ON task (checkpoint) WHERE checkpoint <> '';

CREATE TABLE attempt (
    task_id    text NOT NULL,
    number     bigint NOT NULL,
    worker_id  text NOT NULL,
    started_at bigint NOT NULL,
    ended_at   bigint NOT NULL,
    outcome    text NOT NULL, -- '', done, failed, stopped, lost, released
    detail     text NOT NULL,
    PRIMARY KEY (task_id, number)
);

CREATE TABLE worker (
    id         text PRIMARY KEY,
    host       text NOT NULL,
    lanes      text NOT NULL,
    models     text NOT NULL,
    devices    text NOT NULL,
    memory     bigint NOT NULL,
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL
);

-- What a run tells others when it ends.
CREATE TABLE subscription (
    id          text PRIMARY KEY,
    account_id  text NOT NULL,
    source_kind text NOT NULL,
    source_id   text NOT NULL, -- job or workflow
    run_id      text NOT NULL,
    destination text NOT NULL,
    word        text NOT NULL,
    target_type text NOT NULL,
    settings    text NOT NULL,
    created_at  bigint NOT NULL
);
CREATE INDEX subscription_source ON subscription (source_id);
CREATE INDEX subscription_page ON subscription (account_id, id);

CREATE TABLE event (
    id          text PRIMARY KEY,
    account_id  text NOT NULL,
    source_kind text NOT NULL,
    source_id   text NOT NULL,
    run_id      text NOT NULL,
    name        text NOT NULL,
    status      text NOT NULL,
    payload     text NOT NULL,
    occurred_at bigint NOT NULL
);
CREATE INDEX event_source ON event (source_id);

-- +goose Down
DROP TABLE event;
DROP TABLE subscription;
DROP TABLE worker;
DROP TABLE attempt;
DROP TABLE task;
DROP TABLE artifact;
DROP TABLE run_event;
DROP TABLE run;
DROP TABLE job;
DROP TABLE idempotency;
DROP TABLE quota_day;
DROP TABLE session;
DROP TABLE api_key;
DROP TABLE account;

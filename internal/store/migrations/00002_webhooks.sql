-- Who is told when a run ends: endpoints, deliveries and what came of each attempt.

-- +goose Up
CREATE TABLE endpoint (
    id                 text PRIMARY KEY,
    account_id         text NOT NULL,
    run_source         text NOT NULL, -- the job or workflow that brought it; empty: the account's global one
    url                text NOT NULL,
    token              text NOT NULL, -- sealed
    secret             text NOT NULL, -- sealed; empty: none
    old_secret         text NOT NULL, -- sealed; signs beside the new one until old_secret_until
    old_secret_until   bigint NOT NULL,
    format             text NOT NULL,
    active             bigint NOT NULL,
    paused             bigint NOT NULL,
    enabled_by_default bigint NOT NULL,
    disabled_reason    text NOT NULL,
    health             text NOT NULL, -- the breaker, as internal/webhook keeps it
    resume_at          bigint NOT NULL,
    rotated_at         bigint NOT NULL,
    created_at         bigint NOT NULL,
    updated_at         bigint NOT NULL
);
CREATE UNIQUE INDEX endpoint_global ON endpoint (account_id) WHERE run_source = '';
CREATE INDEX endpoint_source ON endpoint (run_source) WHERE run_source <> '';

CREATE TABLE delivery (
    id              text PRIMARY KEY,
    account_id      text NOT NULL,
    event_id        text NOT NULL,
    subscription_id text NOT NULL,
    endpoint_id     text NOT NULL, -- empty: a follow-up
    destination     text NOT NULL,
    source_kind     text NOT NULL,
    source_id       text NOT NULL,
    run_id          text NOT NULL,
    event_name      text NOT NULL,
    once            text NOT NULL, -- what makes it one of its kind: the event, or for follow-ups the run
    status          text NOT NULL, -- PENDING, SUCCEEDED or FAILED; RUNNING is read off the task
    triggered       text NOT NULL, -- the workflow that a follow-up started
    attempts        bigint NOT NULL,
    next_at         bigint NOT NULL,
    response_status bigint NOT NULL,
    reason          text NOT NULL,
    created_at      bigint NOT NULL,
    updated_at      bigint NOT NULL
);
CREATE UNIQUE INDEX delivery_once ON delivery (once);
CREATE INDEX delivery_page ON delivery (account_id, id);
CREATE INDEX delivery_status ON delivery (account_id, status, id);
CREATE INDEX delivery_source ON delivery (source_id, id);

CREATE INDEX delivery_endpoint ON delivery (endpoint_id) WHERE status = 'PENDING';
CREATE INDEX delivery_age ON delivery (updated_at) WHERE status <> 'PENDING';

CREATE INDEX task_deliver ON task (share) WHERE state = 'queued' AND kind = 'deliver';
CREATE INDEX task_busy ON task (share, account_id) WHERE state = 'running' AND kind = 'deliver';

ALTER TABLE subscription ADD COLUMN endpoint_id text NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN ingest_id text NOT NULL DEFAULT '';
CREATE UNIQUE INDEX event_ingest ON event (ingest_id) WHERE ingest_id <> '';

-- +goose Down
DROP INDEX event_ingest;
ALTER TABLE event DROP COLUMN ingest_id;
ALTER TABLE subscription DROP COLUMN endpoint_id;
DROP INDEX task_busy;
DROP INDEX task_deliver;
DROP TABLE delivery;
DROP TABLE endpoint;

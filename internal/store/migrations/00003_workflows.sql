-- Workflows: questions about a structure and dynamics. Their one task is a run like a fold's, so that leases, progress,
-- artifacts and endings are the same; and the library that files come from and go to.

-- +goose Up
ALTER TABLE run ADD COLUMN kind text NOT NULL DEFAULT 'fold'; -- fold, qna or md; run.job_id is then the workflow

CREATE TABLE workflow (
    id              text PRIMARY KEY,
    account_id      text NOT NULL,
    kind            text NOT NULL, -- qna or md
    word            text NOT NULL, -- as the caller spelled it: qna, evolla, md, openmm
    workflow_name   text NOT NULL, -- qna_v1, evolla_v1, md, calvados_openmm_v1
    name            text NOT NULL,
    public          bigint NOT NULL,
    state           text NOT NULL,
    version         bigint NOT NULL,
    epoch           bigint NOT NULL,
    run_id          text NOT NULL, -- its task; empty while it is a draft
    input           text NOT NULL,
    source_job      text NOT NULL,
    source_run      text NOT NULL,
    source_sequence text NOT NULL,
    created_at      bigint NOT NULL,
    updated_at      bigint NOT NULL,
    deleted_at      bigint NOT NULL
);
CREATE INDEX workflow_page ON workflow (account_id, id) WHERE deleted_at = 0;
CREATE INDEX workflow_source ON workflow (source_job, id) WHERE source_job <> '';

CREATE TABLE library_item (
    id         text PRIMARY KEY,
    account_id text NOT NULL,
    parent_id  text NOT NULL,
    name       text NOT NULL,
    type       text NOT NULL, -- file or folder
    file_type  text NOT NULL,
    origin     text NOT NULL,
    workflow_id text NOT NULL, -- whose task made it; empty: uploaded
    metadata   text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint NOT NULL
);
CREATE INDEX library_page ON library_item (account_id, id) WHERE deleted_at = 0;
CREATE INDEX library_made ON library_item (workflow_id) WHERE workflow_id <> '' AND deleted_at = 0;
CREATE INDEX library_children ON library_item (parent_id) WHERE parent_id <> '' AND deleted_at = 0;

CREATE TABLE library_file (
    item_id      text NOT NULL,
    name         text NOT NULL,
    content_type text NOT NULL,
    bytes        bigint NOT NULL,
    sha256       text NOT NULL,
    blob_key     text NOT NULL,
    created_at   bigint NOT NULL,
    PRIMARY KEY (item_id, name)
);
CREATE INDEX library_blob ON library_file (blob_key);

-- +goose Down
DROP TABLE library_file;
DROP TABLE library_item;
DROP TABLE workflow;
ALTER TABLE run DROP COLUMN kind;

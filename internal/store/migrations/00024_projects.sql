-- Projects own what users make. A user's own project has the user's id, so that everything keeps its owner.
-- +goose Up
ALTER TABLE account ADD COLUMN kind text NOT NULL DEFAULT 'person'; -- or service: a program that works for a project
ALTER TABLE account ADD COLUMN project_id text NOT NULL DEFAULT ''; -- of a service user: the project that owns it
ALTER TABLE account ADD COLUMN operator bigint NOT NULL DEFAULT 0;
ALTER TABLE account ADD COLUMN disabled_at bigint NOT NULL DEFAULT 0; -- 0: the user may act

CREATE TABLE project (
    id           text PRIMARY KEY,
    name         text NOT NULL,
    own          bigint NOT NULL, -- the own project of the user of this id
    quota        bigint NOT NULL, -- jobs per day; negative: the service's default
    keep_results bigint NOT NULL, -- in µs; negative: the service's setting; 0: for ever
    created_at   bigint NOT NULL,
    deleted_at   bigint NOT NULL
);
CREATE UNIQUE INDEX project_name ON project (name) WHERE own = 0 AND deleted_at = 0;

CREATE TABLE project_member (
    project_id text NOT NULL REFERENCES project (id),
    account_id text NOT NULL REFERENCES account (id),
    role       bigint NOT NULL, -- 1 viewer, 2 member, 3 manager
    added_at   bigint NOT NULL,
    PRIMARY KEY (project_id, account_id)
);
CREATE INDEX project_member_account ON project_member (account_id, project_id);

INSERT INTO project (id, name, own, quota, keep_results, created_at, deleted_at)
SELECT id, name, 1, quota, -1, created_at, 0 FROM account;
INSERT INTO project_member (project_id, account_id, role, added_at) SELECT id, id, 3, created_at FROM account;
ALTER TABLE account DROP COLUMN quota;

-- A link by which somebody gets a role in a project, once.
CREATE TABLE invitation (
    id         text PRIMARY KEY,
    project_id text NOT NULL REFERENCES project (id),
    hash       text NOT NULL UNIQUE, -- of the token in the link
    role       bigint NOT NULL,
    label      text NOT NULL,        -- for whom it is, as its maker wrote
    created_by text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    used_at    bigint NOT NULL,      -- 0: it can be used
    used_by    text NOT NULL
);
CREATE INDEX invitation_project ON invitation (project_id, id);

-- A link by which anybody reads one job, batch or workflow.
CREATE TABLE share (
    id          text PRIMARY KEY,
    project_id  text NOT NULL,
    source_kind text NOT NULL,
    source_id   text NOT NULL,
    hash        text NOT NULL UNIQUE, -- of the token in the link
    created_by  text NOT NULL,
    created_at  bigint NOT NULL,
    expires_at  bigint NOT NULL
);
CREATE INDEX share_source ON share (source_id, id);

ALTER TABLE api_key ADD COLUMN project_id text NOT NULL DEFAULT ''; -- the only project that it reaches; empty: all
ALTER TABLE audit ADD COLUMN project_id text NOT NULL DEFAULT '';   -- which the change concerns; empty: the user alone
CREATE INDEX audit_project ON audit (project_id, id) WHERE project_id <> '';

-- Who created a thing. Empty: the user whose own project owned it when projects came.
ALTER TABLE job ADD COLUMN created_by text NOT NULL DEFAULT '';
ALTER TABLE workflow ADD COLUMN created_by text NOT NULL DEFAULT '';
ALTER TABLE batch ADD COLUMN created_by text NOT NULL DEFAULT '';

ALTER TABLE job RENAME COLUMN account_id TO project_id;
ALTER TABLE run RENAME COLUMN account_id TO project_id;
ALTER TABLE workflow RENAME COLUMN account_id TO project_id;
ALTER TABLE batch RENAME COLUMN account_id TO project_id;
ALTER TABLE task RENAME COLUMN account_id TO project_id;
ALTER TABLE event RENAME COLUMN account_id TO project_id;
ALTER TABLE subscription RENAME COLUMN account_id TO project_id;
ALTER TABLE endpoint RENAME COLUMN account_id TO project_id;
ALTER TABLE delivery RENAME COLUMN account_id TO project_id;
ALTER TABLE library_item RENAME COLUMN account_id TO project_id;
ALTER TABLE quota_day RENAME COLUMN account_id TO project_id;
ALTER TABLE result_use RENAME COLUMN account_id TO project_id;
ALTER TABLE msa_search RENAME COLUMN account_id TO project_id;

-- +goose Down
ALTER TABLE msa_search RENAME COLUMN project_id TO account_id;
ALTER TABLE result_use RENAME COLUMN project_id TO account_id;
ALTER TABLE quota_day RENAME COLUMN project_id TO account_id;
ALTER TABLE library_item RENAME COLUMN project_id TO account_id;
ALTER TABLE delivery RENAME COLUMN project_id TO account_id;
ALTER TABLE endpoint RENAME COLUMN project_id TO account_id;
ALTER TABLE subscription RENAME COLUMN project_id TO account_id;
ALTER TABLE event RENAME COLUMN project_id TO account_id;
ALTER TABLE task RENAME COLUMN project_id TO account_id;
ALTER TABLE batch RENAME COLUMN project_id TO account_id;
ALTER TABLE workflow RENAME COLUMN project_id TO account_id;
ALTER TABLE run RENAME COLUMN project_id TO account_id;
ALTER TABLE job RENAME COLUMN project_id TO account_id;
ALTER TABLE batch DROP COLUMN created_by;
ALTER TABLE workflow DROP COLUMN created_by;
ALTER TABLE job DROP COLUMN created_by;
DROP INDEX audit_project;
ALTER TABLE audit DROP COLUMN project_id;
ALTER TABLE api_key DROP COLUMN project_id;
DROP TABLE share;
DROP TABLE invitation;
ALTER TABLE account ADD COLUMN quota bigint NOT NULL DEFAULT -1;
UPDATE account SET quota = (SELECT p.quota FROM project p WHERE p.id = account.id);
DROP TABLE project_member;
DROP TABLE project;
ALTER TABLE account DROP COLUMN disabled_at;
ALTER TABLE account DROP COLUMN operator;
ALTER TABLE account DROP COLUMN project_id;
ALTER TABLE account DROP COLUMN kind;

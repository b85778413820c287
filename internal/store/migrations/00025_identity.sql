-- People who sign in by an issuer of OpenID Connect, their groups, and what groups may do in projects.
-- +goose Up
CREATE TABLE account_identity (
    issuer     text NOT NULL,
    subject    text NOT NULL,
    account_id text NOT NULL UNIQUE REFERENCES account (id),
    email      text NOT NULL,   -- to read; it identifies nobody
    checked_at bigint NOT NULL, -- when the issuer last vouched for the person
    lasting    bigint NOT NULL, -- 1: there is a login of the kind grant, by which the keys are checked
    suspended  bigint NOT NULL, -- 1: the issuer vouches for the person no more; the keys count again after a sign-in
    PRIMARY KEY (issuer, subject)
);

CREATE TABLE account_group (
    account_id text NOT NULL REFERENCES account (id),
    name       text NOT NULL,
    PRIMARY KEY (account_id, name)
);
CREATE INDEX account_group_name ON account_group (name);

CREATE TABLE project_group (
    project_id text NOT NULL REFERENCES project (id),
    name       text NOT NULL,
    role       bigint NOT NULL, -- 1 viewer, 2 member, 3 manager
    added_at   bigint NOT NULL,
    PRIMARY KEY (project_id, name)
);
CREATE INDEX project_group_name ON project_group (name, project_id);

-- What the issuer has vouched for: a session of the page, a token that a program sends, or the grant by which the keys
-- of a person are checked.
CREATE TABLE login (
    hash           text PRIMARY KEY, -- of the session's id or of the token; no hash for a grant
    kind           text NOT NULL CHECK (kind IN ('session', 'bearer', 'grant')),
    account_id     text NOT NULL REFERENCES account (id),
    tokens         text NOT NULL,    -- of the issuer, sealed; empty for a bearer
    check_at       bigint NOT NULL,  -- when the issuer is to be asked again
    checking_until bigint NOT NULL,  -- a node asks it until then
    refusals       bigint NOT NULL,  -- in a row, whose meaning was not clear
    expires_at     bigint NOT NULL,
    created_at     bigint NOT NULL
);
CREATE INDEX login_account ON login (account_id);
CREATE INDEX login_expiry ON login (expires_at);

-- Attempts to sign in that have come back from the issuer, so that none counts twice.
CREATE TABLE login_attempt (
    hash       text PRIMARY KEY, -- of its state
    expires_at bigint NOT NULL
);
CREATE INDEX login_attempt_expiry ON login_attempt (expires_at);

-- +goose Down
DROP TABLE login_attempt;
DROP TABLE login;
DROP TABLE project_group;
DROP TABLE account_group;
DROP TABLE account_identity;

-- Notifications by mail: who wants which, and the mails, for some time after they have ended.
-- +goose Up
CREATE TABLE mail_setting (
    account_id   text PRIMARY KEY REFERENCES account (id),
    address      text NOT NULL,   -- empty: none
    confirmed_at bigint NOT NULL, -- 0: nobody has shown yet that it is the user's
    events       bigint NOT NULL, -- 1 run completed, 2 run failed, 4 batch ended, 8 endpoint disabled, added up
    refusals     bigint NOT NULL, -- of the address by mail servers, in a row and for good
    off_reason   text NOT NULL,   -- why nothing is sent any more; empty: it is
    confirm_id   text NOT NULL,   -- of the mail whose link confirms the address; empty: none
    expires_at   bigint NOT NULL, -- of that link
    day          bigint NOT NULL, -- UTC, since 1970, which sent and asked count
    sent         bigint NOT NULL, -- mails that were sent or are being sent
    asked        bigint NOT NULL  -- mails with a link that confirms
);

CREATE TABLE mail (
    id          text PRIMARY KEY, -- and of its task
    account_id  text NOT NULL REFERENCES account (id),
    kind        text NOT NULL,    -- confirm, run_completed, run_failed, batch_ended or endpoint_disabled
    source_kind text NOT NULL,    -- fold_job, workflow, batch or endpoint; empty: of a confirmation
    source_id   text NOT NULL,
    run_id      text NOT NULL,
    status      text NOT NULL CHECK (status IN ('PENDING', 'SENT', 'FAILED', 'SKIPPED')),
    attempts    bigint NOT NULL,
    next_at     bigint NOT NULL,  -- of the next attempt; 0: there is none
    reason      text NOT NULL,    -- of the last attempt that failed, or why it was skipped
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL
);
-- Mails of a day that ask whether an address is a user's, by all users together.
CREATE TABLE mail_asked (
    day     bigint NOT NULL, -- UTC, since 1970
    address text NOT NULL,   -- in small letters, without what follows a + in its name
    asked   bigint NOT NULL,
    PRIMARY KEY (day, address)
);

CREATE INDEX mail_account ON mail (account_id, created_at);
CREATE INDEX mail_created ON mail (created_at);

-- +goose Down
DELETE FROM attempt WHERE task_id IN (SELECT id FROM mail);
DELETE FROM task WHERE kind = 'mail';
DROP TABLE mail;
DROP TABLE mail_asked;
DROP TABLE mail_setting;

-- The schema of the first release, one text for SQLite and PostgreSQL. A later change is a file of its own.
--
-- Times are microseconds since 1970 UTC, 0 for "not yet"; days are days since 1970 UTC; booleans are 0 and 1; JSON is
-- text.

-- +goose Up

-- Users and how they sign in ------------------------------------------------------------------------------------------

CREATE TABLE account (
    id          text PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    created_at  bigint NOT NULL,
    kind        text NOT NULL DEFAULT 'person', -- or service: a program that works for a project
    project_id  text NOT NULL DEFAULT '',       -- of a service user: the project that owns it
    operator    bigint NOT NULL DEFAULT 0,
    disabled_at bigint NOT NULL DEFAULT 0       -- 0: the user may act
);

CREATE TABLE api_key (
    id           text PRIMARY KEY,
    account_id   text NOT NULL REFERENCES account (id),
    prefix       text NOT NULL,
    hash         text NOT NULL UNIQUE,
    label        text NOT NULL,
    created_at   bigint NOT NULL,
    last_used_at bigint NOT NULL,
    revoked_at   bigint NOT NULL,
    scopes       text NOT NULL DEFAULT 'read submit manage',
    expires_at   bigint NOT NULL DEFAULT 0, -- 0: never
    project_id   text NOT NULL DEFAULT ''   -- the only project that it reaches; empty: all
);
CREATE INDEX api_key_account ON api_key (account_id);

-- Sessions of the page that began with a key.
CREATE TABLE session (
    hash       text PRIMARY KEY,
    key_id     text NOT NULL REFERENCES api_key (id),
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL DEFAULT 0
);
CREATE INDEX session_expiry ON session (expires_at);
CREATE INDEX session_key ON session (key_id, created_at);

-- People who sign in by an issuer of OpenID Connect.
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

-- Their groups, as the issuer last named them.
CREATE TABLE account_group (
    account_id text NOT NULL REFERENCES account (id),
    name       text NOT NULL,
    PRIMARY KEY (account_id, name)
);
CREATE INDEX account_group_name ON account_group (name);

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

-- Projects, which own what users make ---------------------------------------------------------------------------------

-- A user's own project has the user's id.
CREATE TABLE project (
    id           text PRIMARY KEY,
    name         text NOT NULL,
    own          bigint NOT NULL, -- the own project of the user of this id
    quota        bigint NOT NULL, -- jobs per day; negative: the service's default
    keep_results bigint NOT NULL, -- in µs; negative: the service's setting; 0: for ever
    created_at   bigint NOT NULL,
    deleted_at   bigint NOT NULL,
    budget_gpu   bigint NOT NULL DEFAULT -1, -- what it may spend in a month, in µs; negative: without a limit
    budget_cpu   bigint NOT NULL DEFAULT -1
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

-- What the groups of an issuer may do in projects.
CREATE TABLE project_group (
    project_id text NOT NULL REFERENCES project (id),
    name       text NOT NULL,
    role       bigint NOT NULL, -- 1 viewer, 2 member, 3 manager
    added_at   bigint NOT NULL,
    PRIMARY KEY (project_id, name)
);
CREATE INDEX project_group_name ON project_group (name, project_id);

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

-- Who changed keys, sessions, endpoints, roles and shares.
CREATE TABLE audit (
    id         text PRIMARY KEY,
    account_id text NOT NULL,
    key_id     text NOT NULL, -- who made the change; empty: an operator, on the database
    prefix     text NOT NULL, -- of that key
    address    text NOT NULL,
    action     text NOT NULL,
    subject    text NOT NULL, -- what was changed: the prefix of a key, or the origin of an endpoint
    detail     text NOT NULL,
    created_at bigint NOT NULL,
    project_id text NOT NULL DEFAULT '' -- which the change concerns; empty: the user alone
);
CREATE INDEX audit_page ON audit (account_id, id);
CREATE INDEX audit_action ON audit (account_id, action, id);
CREATE INDEX audit_project ON audit (project_id, id) WHERE project_id <> '';

-- What projects have used ---------------------------------------------------------------------------------------------

CREATE TABLE quota_day (
    project_id text NOT NULL,
    day        bigint NOT NULL,
    used       bigint NOT NULL,           -- jobs
    workflows  bigint NOT NULL DEFAULT 0, -- that were started
    batch_rows bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, day)
);

-- How many bytes the runs of a project hold, so that a creation need not add up all of them. The sum over the parts
-- counts: runs that end at the same time change different parts and do not wait for one another.
CREATE TABLE result_use (
    project_id text NOT NULL,
    part       bigint NOT NULL,
    bytes      bigint NOT NULL, -- of one part, which may be negative
    PRIMARY KEY (project_id, part)
);

-- What runs have spent. The sum over the parts counts, as in result_use. Times are in µs. The rows stay when jobs are
-- deleted.
CREATE TABLE usage_day (
    project_id text NOT NULL,
    day        bigint NOT NULL, -- on which an attempt or a run has ended
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

-- The answers to requests that clients may repeat.
CREATE TABLE idempotency (
    account_id text NOT NULL,
    key        text NOT NULL,
    digest     text NOT NULL,
    answer     text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- Jobs and batches of jobs --------------------------------------------------------------------------------------------

CREATE TABLE job (
    id           text PRIMARY KEY,
    project_id   text NOT NULL,
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
    run_id       text NOT NULL,             -- the latest
    runs         bigint NOT NULL,
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    deleted_at   bigint NOT NULL,
    batch_id     text NOT NULL DEFAULT '',  -- empty: a job of its own
    batch_row    bigint NOT NULL DEFAULT 0,
    batch_rows   bigint NOT NULL DEFAULT 0, -- that share it
    created_by   text NOT NULL DEFAULT ''   -- empty: the user whose own project owns it
);
CREATE INDEX job_deleted ON job (deleted_at) WHERE deleted_at <> 0;
CREATE UNIQUE INDEX job_batch_row ON job (batch_id, batch_row) WHERE batch_id <> '';
CREATE INDEX job_batch_state ON job (state, batch_id, batch_row, batch_rows) WHERE batch_id <> '';
-- The jobs of batches are not in the lists of a user's jobs.
CREATE INDEX job_page ON job (project_id, id) WHERE deleted_at = 0 AND batch_id = '';
CREATE INDEX job_state ON job (project_id, state, id) WHERE deleted_at = 0 AND batch_id = '';
-- For lists of what one person made in a project. A person's own project needs no index: nearly all is the person's.
CREATE INDEX job_creator ON job (project_id, created_by, id)
    WHERE deleted_at = 0 AND batch_id = '' AND created_by <> '' AND created_by <> project_id;

-- Many jobs that are created, watched and ended together.
CREATE TABLE batch (
    id         text PRIMARY KEY,
    project_id text NOT NULL,
    name       text NOT NULL,
    kind       text NOT NULL,
    model      text NOT NULL,
    public     bigint NOT NULL,
    source     text NOT NULL,             -- the batch that this one repeats; empty: none
    row_count  bigint NOT NULL,           -- in the request
    job_count  bigint NOT NULL,           -- of different rows
    jobs_made  bigint NOT NULL,           -- of them, those that exist
    next_row   bigint NOT NULL,           -- before which every row has its job
    each_row   bigint NOT NULL,           -- the subscriptions are for the event of each row, too
    cancelled  bigint NOT NULL,
    retry_row  bigint NOT NULL,           -- from which failed jobs are run again; 0: none
    request    text NOT NULL,             -- id of the request that created it
    trace      text NOT NULL,
    created_at bigint NOT NULL,
    opened_at  bigint NOT NULL,           -- when all its rows were stored; 0: nobody sees it
    ended_at   bigint NOT NULL,
    counts     text NOT NULL,             -- of the rows by state once it has ended, as JSON; empty before
    deleted_at bigint NOT NULL,
    created_by text NOT NULL DEFAULT '',  -- empty: the user whose own project owns it
    expected   bigint NOT NULL DEFAULT 0, -- what its jobs are expected to take together
    queue      text NOT NULL DEFAULT ''   -- in which they compute
);
CREATE INDEX batch_page ON batch (project_id, id) WHERE deleted_at = 0 AND opened_at <> 0;
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
    number   bigint NOT NULL, -- of the row that has the job; rows that share it do not repeat its scores
    name     text NOT NULL,
    value    double precision NOT NULL,
    PRIMARY KEY (number, batch_id, name) -- no index but the next begins with the batch, so that none is mistaken for it
);
CREATE INDEX batch_score_order ON batch_score (batch_id, name, value, number);

-- Runs, of jobs and of workflows --------------------------------------------------------------------------------------

-- A run belongs to a job or to a workflow: exactly one of job_id and workflow_id is not NULL.
CREATE TABLE run (
    id           text NOT NULL,
    job_id       text,          -- of a fold
    workflow_id  text,          -- of every other kind
    project_id   text NOT NULL,
    number       bigint NOT NULL,
    kind         text NOT NULL, -- fold, qna, md, design, compare or align
    state        text NOT NULL,
    msa          text NOT NULL,
    model        text NOT NULL,
    weight_set   text NOT NULL,
    method       text NOT NULL,
    engine       text NOT NULL,
    seed         text NOT NULL,
    params       text NOT NULL,
    fresh        bigint NOT NULL, -- 1: its owner does not accept a cached result
    input_hash   text NOT NULL,   -- of all that its files depend on; empty: unknown, or the result must not be reused
    result       text NOT NULL,
    failure      text NOT NULL,
    stage        text NOT NULL,
    done         bigint NOT NULL,
    total        bigint NOT NULL,
    event_seq    bigint NOT NULL,
    log_lines    bigint NOT NULL,
    created_at   bigint NOT NULL,
    started_at   bigint NOT NULL,
    finished_at  bigint NOT NULL,
    changed_at   bigint NOT NULL,
    bytes        bigint NOT NULL DEFAULT 0, -- of its input and its files
    request_hash text NOT NULL DEFAULT '',  -- of what it was asked to compute, so that a request can be told of an
                                            -- earlier answer; empty: not completed, or without a seed
    trace        text NOT NULL DEFAULT '',  -- that created it, as the text of W3C Trace Context: whoever works on the
                                            -- run continues it
    created_by   text NOT NULL DEFAULT '',  -- empty: the user whose own project owns it
    tokens       bigint NOT NULL DEFAULT 0, -- of the input of a fold
    CONSTRAINT run_id PRIMARY KEY (id)
);
CREATE INDEX run_job ON run (job_id, number) WHERE job_id IS NOT NULL;
CREATE INDEX run_news ON run (project_id, changed_at);
CREATE INDEX run_input ON run (input_hash) WHERE input_hash <> '';
CREATE INDEX run_request ON run (project_id, request_hash) WHERE request_hash <> '';

CREATE TABLE run_event (
    run_id text NOT NULL,
    seq    bigint NOT NULL,
    body   text NOT NULL,
    PRIMARY KEY (run_id, seq)
);

-- The files of the library that a run has pinned.
CREATE TABLE run_file (
    run_id   text NOT NULL,
    name     text NOT NULL,   -- as the run knows it
    main     bigint NOT NULL, -- whether the run is about it
    blob_key text NOT NULL,
    sha256   text NOT NULL,
    bytes    bigint NOT NULL,
    PRIMARY KEY (run_id, name)
);
CREATE INDEX run_file_blob ON run_file (blob_key);

CREATE TABLE artifact (
    id           text PRIMARY KEY,
    run_id       text NOT NULL,
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

-- Workflows: questions about a structure, simulations and designs -----------------------------------------------------

-- The one task of a workflow is a run like a fold's, so that leases, progress, artifacts and endings are the same.
CREATE TABLE workflow (
    id              text PRIMARY KEY,
    project_id      text NOT NULL,
    kind            text NOT NULL, -- of its run
    alias           text NOT NULL, -- as the caller spelled it: qna, evolla, md, openmm
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
    deleted_at      bigint NOT NULL,
    input_bytes     bigint NOT NULL DEFAULT 0,
    started_by      text NOT NULL DEFAULT '', -- the job whose end started it
    created_by      text NOT NULL DEFAULT ''  -- empty: the user whose own project owns it
);
CREATE INDEX workflow_page ON workflow (project_id, id) WHERE deleted_at = 0;
CREATE INDEX workflow_source ON workflow (source_job, id) WHERE source_job <> '';
CREATE INDEX workflow_draft ON workflow (project_id, input_bytes) WHERE run_id = '' AND deleted_at = 0;
CREATE INDEX workflow_follow ON workflow (started_by) WHERE started_by <> '';
CREATE INDEX workflow_deleted ON workflow (deleted_at) WHERE deleted_at <> 0;
-- As job_creator.
CREATE INDEX workflow_creator ON workflow (project_id, created_by, id)
    WHERE deleted_at = 0 AND created_by <> '' AND created_by <> project_id;

-- What a workflow that is a design has besides.
CREATE TABLE design (
    workflow_id text PRIMARY KEY,
    workspace   text NOT NULL, -- folder of the owner's library
    graph       text NOT NULL  -- workflow.yml as it was last saved; empty: none
);

-- The folds of designs.
CREATE TABLE design_fold (
    job_id      text PRIMARY KEY,
    workflow_id text NOT NULL,
    design_id   text NOT NULL,
    final_rank  bigint NOT NULL,
    of_run      text NOT NULL,            -- of the job, for which binder_rmsd holds; empty: not measured
    binder_rmsd double precision NOT NULL -- Å; below 0: it cannot be measured
);
CREATE INDEX design_fold_workflow ON design_fold (workflow_id, job_id);

-- The library that files come from and go to --------------------------------------------------------------------------

CREATE TABLE library_item (
    id          text PRIMARY KEY,
    project_id  text NOT NULL,
    parent_id   text NOT NULL,
    name        text NOT NULL,
    type        text NOT NULL, -- file or folder
    file_type   text NOT NULL,
    origin      text NOT NULL,
    workflow_id text NOT NULL, -- whose task made it; empty: uploaded
    metadata    text NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    deleted_at  bigint NOT NULL,
    entries     bigint NOT NULL DEFAULT 0, -- that count against the limit: itself and its files; 0: a simulation's own
    bytes       bigint NOT NULL DEFAULT 0  -- of its metadata and files
);
CREATE INDEX library_page ON library_item (project_id, id) WHERE deleted_at = 0;
CREATE INDEX library_made ON library_item (workflow_id) WHERE workflow_id <> '' AND deleted_at = 0;
CREATE INDEX library_children ON library_item (parent_id) WHERE parent_id <> '' AND deleted_at = 0;
CREATE INDEX library_use ON library_item (project_id, entries, bytes);

CREATE TABLE library_file (
    item_id      text NOT NULL,
    name         text NOT NULL,
    content_type text NOT NULL,
    bytes        bigint NOT NULL,
    sha256       text NOT NULL,
    blob_key     text NOT NULL,
    created_at   bigint NOT NULL,
    counted      bigint NOT NULL DEFAULT 0, -- bytes that count against the limit; 0: the blob belongs to a run
    PRIMARY KEY (item_id, name)
);
CREATE INDEX library_blob ON library_file (blob_key);

-- The queue -----------------------------------------------------------------------------------------------------------

-- Runs, deliveries, follow-ups and mails are kinds of task; there is no other queue. A task works on a run or on a
-- delivery: at most one of run_id and delivery_id is not NULL. It is deleted when it ends, so that claims and the
-- vacuum of PostgreSQL do not slow down as ended tasks pile up.
CREATE TABLE task (
    id              text PRIMARY KEY,
    kind            text NOT NULL, -- of its run, or deliver, follow or mail
    queue           text NOT NULL,             -- what a worker must be able to do
    project_id      text NOT NULL,
    tenant          text NOT NULL,             -- whose turn it takes
    position        bigint NOT NULL,
    state           text NOT NULL,             -- queued, waiting or running
    attempt         bigint NOT NULL,           -- the fence: rises with every claim
    tries           bigint NOT NULL,           -- attempts that were lost or failed and may be repeated
    max_tries       bigint NOT NULL,
    memory          bigint NOT NULL,
    run_at          bigint NOT NULL,
    lease_until     bigint NOT NULL,
    worker_id       text NOT NULL,
    cancel          bigint NOT NULL,
    checkpoint      text NOT NULL,
    checkpoint_step bigint NOT NULL,
    created_at      bigint NOT NULL,
    run_id          text,
    delivery_id     text,
    request         text NOT NULL DEFAULT '',  -- id of the request that created it, for the log of the worker
    expected        bigint NOT NULL DEFAULT 0, -- how long it takes by the manifest's speed; 0: unknown
    claim           text NOT NULL DEFAULT ''   -- the last one's id, by which its statements find its tasks, so that
                                               -- they can be sent together with the one that claims them
);
CREATE INDEX task_ready ON task (queue, position, id) WHERE state = 'queued';
CREATE INDEX task_share ON task (queue, tenant, position) WHERE state = 'queued';
CREATE INDEX task_waiting ON task (run_at) WHERE state = 'waiting';
CREATE INDEX task_held ON task (worker_id) WHERE state = 'running';
CREATE INDEX task_checkpoint ON task (checkpoint) WHERE checkpoint <> '';
CREATE INDEX task_deliver ON task (tenant) WHERE state = 'queued' AND kind = 'deliver';
CREATE INDEX task_busy ON task (tenant, project_id) WHERE state = 'running' AND kind = 'deliver';
CREATE INDEX task_run ON task (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX task_delivery ON task (delivery_id) WHERE delivery_id IS NOT NULL;
-- Heartbeats change lease_until alone. Without an index on it, PostgreSQL replaces a row within its page (HOT), and
-- heartbeats leave no dead index entries. The leases that have expired are found among the running tasks.
CREATE INDEX task_running ON task (id) WHERE state = 'running';
CREATE INDEX task_claim ON task (claim) WHERE state = 'running';
-- Adds up what the tasks of a project are expected to take.
CREATE INDEX task_expected ON task (project_id, queue, expected) WHERE expected > 0;

-- The history of tasks. Attempts stay with their run or delivery when the task is deleted.
CREATE TABLE attempt (
    task_id     text NOT NULL,
    number      bigint NOT NULL,
    worker_id   text NOT NULL,
    started_at  bigint NOT NULL,
    ended_at    bigint NOT NULL,
    outcome     text NOT NULL, -- '', done, failed, stopped, lost, released
    detail      text NOT NULL,
    run_id      text,
    delivery_id text,
    gpus        bigint,        -- that it had; NULL: unknown
    cores       bigint,        -- that it had; NULL: unknown
    PRIMARY KEY (task_id, number)
);
CREATE INDEX attempt_run ON attempt (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX attempt_delivery ON attempt (delivery_id, task_id) WHERE delivery_id IS NOT NULL;

-- Models whose tasks are not claimed, because operators have paused them.
CREATE TABLE paused_model (
    model     text PRIMARY KEY,
    reason    text NOT NULL,
    paused_by text NOT NULL, -- the account that gave the reason; empty: who worked on the database
    paused_at bigint NOT NULL
);

-- The queues of these models, by which a claim looks.
CREATE TABLE paused_queue (
    queue text PRIMARY KEY,
    model text NOT NULL
);

-- Which alignments are being searched for, so that each is searched once among all workers, and which have been found,
-- so that a check of a batch can tell.
CREATE TABLE msa_search (
    key         text PRIMARY KEY, -- of the cache entry in the artifact store
    project_id  text NOT NULL,    -- whose alignment it is; empty: all users share it
    protein     text NOT NULL,    -- SHA-256 of its sequence, in hex; empty: of several, paired
    worker_id   text NOT NULL,    -- which searches
    lease_until bigint NOT NULL,  -- until when no other worker searches
    found_at    bigint NOT NULL   -- 0: not yet
);
CREATE INDEX msa_search_found ON msa_search (project_id, protein) WHERE found_at <> 0;
CREATE INDEX msa_search_age ON msa_search (found_at, lease_until);

-- Workers -------------------------------------------------------------------------------------------------------------

CREATE TABLE worker (
    id          text PRIMARY KEY,
    host        text NOT NULL,
    queues      text NOT NULL,
    models      text NOT NULL,
    devices     text NOT NULL,
    memory      bigint NOT NULL,
    started_at  bigint NOT NULL,
    seen_at     bigint NOT NULL,
    stopped_at  bigint NOT NULL DEFAULT 0, -- when it stopped in order; 0: it has not
    class       text NOT NULL DEFAULT 'default',
    cluster_job text NOT NULL DEFAULT '',  -- that the process is; empty: none
    ends_at     bigint NOT NULL DEFAULT 0, -- 0: unknown
    draining_at bigint NOT NULL DEFAULT 0,
    token       text NOT NULL DEFAULT ''   -- hash of the token with which it registered at a server; empty: it has the
                                           -- database's address
);

-- The GPUs and cores that a task of a queue has on a worker; NULL: unknown.
CREATE TABLE worker_use (
    worker_id text NOT NULL,
    queue     text NOT NULL,
    gpus      bigint,
    cores     bigint,
    PRIMARY KEY (worker_id, queue)
);
CREATE INDEX worker_use_queue ON worker_use (queue, gpus, cores);

CREATE TABLE class (
    name     text PRIMARY KEY,
    position bigint NOT NULL,         -- in the list of classes: of two that could run a task, the first is asked
    spec     text NOT NULL,           -- JSON
    fleet    text NOT NULL DEFAULT '' -- JSON: what the fleet last reported; empty: nothing
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

-- Tokens of programs: one that scales the workers reads the demand for them (demand), and a worker of a class registers
-- (worker). They are no users' keys and can do nothing else.
CREATE TABLE fleet_token (
    hash       text PRIMARY KEY,        -- SHA-256 in hexadecimal
    kind       text NOT NULL,           -- demand or worker
    created_at bigint NOT NULL,
    class      text NOT NULL DEFAULT '' -- of the workers; empty: the kind has no class
);

-- Which process does what only one may do.
CREATE TABLE leader (
    role   text PRIMARY KEY,
    holder text NOT NULL,
    until  bigint NOT NULL
);

-- What all processes of a service must agree on: the artifact store and the secret keys.
CREATE TABLE service (
    name  text PRIMARY KEY,
    value text NOT NULL -- JSON
);

-- Webhooks: who is told when a run ends, and what came of each attempt ------------------------------------------------

-- What a run tells others when it ends.
CREATE TABLE subscription (
    id          text PRIMARY KEY,
    project_id  text NOT NULL,
    source_kind text NOT NULL,
    source_id   text NOT NULL, -- job or workflow
    run_id      text NOT NULL,
    destination text NOT NULL,
    alias       text NOT NULL,
    target_type text NOT NULL,
    settings    text NOT NULL,
    created_at  bigint NOT NULL,
    endpoint_id text NOT NULL DEFAULT ''
);
CREATE INDEX subscription_source ON subscription (source_id);
CREATE INDEX subscription_page ON subscription (project_id, id);

CREATE TABLE event (
    id          text PRIMARY KEY,
    project_id  text NOT NULL,
    source_kind text NOT NULL,
    source_id   text NOT NULL,
    run_id      text NOT NULL,
    name        text NOT NULL,
    status      text NOT NULL,
    payload     text NOT NULL,
    occurred_at bigint NOT NULL,
    ingest_id   text NOT NULL DEFAULT ''
);
CREATE INDEX event_source ON event (source_id);
CREATE UNIQUE INDEX event_ingest ON event (ingest_id) WHERE ingest_id <> '';

-- A project has a default endpoint, named ones, each with a filter of events, and those that jobs brought.
CREATE TABLE endpoint (
    id                 text PRIMARY KEY,
    project_id         text NOT NULL,
    run_source         text NOT NULL, -- the job or workflow that brought it; empty: the project's
    url                text NOT NULL,
    token              text NOT NULL, -- sealed
    secret             text NOT NULL, -- sealed; empty: none
    old_secret         text NOT NULL, -- sealed; signs in addition to the new one until old_secret_until
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
    updated_at         bigint NOT NULL,
    name               text NOT NULL DEFAULT '',  -- empty: the default one, or one of a run
    events             bigint NOT NULL DEFAULT 0, -- a bit for each kind of event; 0: all
    deleted_at         bigint NOT NULL DEFAULT 0  -- its row stays while it has deliveries
);
CREATE INDEX endpoint_source ON endpoint (run_source) WHERE run_source <> '';
CREATE UNIQUE INDEX endpoint_global ON endpoint (project_id) WHERE run_source = '' AND name = '';
CREATE UNIQUE INDEX endpoint_name ON endpoint (project_id, name) WHERE name <> '' AND deleted_at = 0;
CREATE INDEX endpoint_deleted ON endpoint (project_id) WHERE deleted_at <> 0;

CREATE TABLE delivery (
    id              text PRIMARY KEY,
    project_id      text NOT NULL,
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
CREATE INDEX delivery_page ON delivery (project_id, id);
CREATE INDEX delivery_status ON delivery (project_id, status, id);
CREATE INDEX delivery_source ON delivery (source_id, id);
CREATE INDEX delivery_endpoint ON delivery (endpoint_id) WHERE status = 'PENDING';
CREATE INDEX delivery_age ON delivery (updated_at) WHERE status <> 'PENDING';
CREATE INDEX delivery_receiver ON delivery (project_id, endpoint_id, id, status);

-- Notifications by mail -----------------------------------------------------------------------------------------------

-- Who wants which.
CREATE TABLE mail_setting (
    account_id   text PRIMARY KEY REFERENCES account (id),
    address      text NOT NULL,   -- empty: none
    confirmed_at bigint NOT NULL, -- 0: nobody has shown yet that it is the user's
    events       bigint NOT NULL, -- 1 run completed, 2 run failed, 4 batch ended, 8 endpoint disabled, added up
    refusals     bigint NOT NULL, -- of the address by mail servers, in a row and for good
    off_reason   text NOT NULL,   -- why nothing is sent any more; empty: it is
    confirm_id   text NOT NULL,   -- of the mail whose link confirms the address; empty: none
    expires_at   bigint NOT NULL, -- of that link
    day          bigint NOT NULL, -- which sent and asked count
    sent         bigint NOT NULL, -- mails that were sent or are being sent
    asked        bigint NOT NULL  -- mails with a link that confirms
);

-- The mails, for some time after they have ended.
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
CREATE INDEX mail_account ON mail (account_id, created_at);
CREATE INDEX mail_created ON mail (created_at);

-- Mails of a day that ask whether an address is a user's, by all users together.
CREATE TABLE mail_asked (
    day     bigint NOT NULL,
    address text NOT NULL, -- in small letters, without what follows a + in its name
    asked   bigint NOT NULL,
    PRIMARY KEY (day, address)
);

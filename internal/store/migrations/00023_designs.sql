-- Designs: the graph and the workspace of a workflow, the files that a run has pinned, and the folds of designs.
-- +goose Up
CREATE TABLE design (
    workflow_id text PRIMARY KEY,
    workspace   text NOT NULL, -- folder of the owner's library
    graph       text NOT NULL  -- workflow.yml as it was last saved; empty: none
);

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

CREATE TABLE design_fold (
    job_id      text PRIMARY KEY,
    workflow_id text NOT NULL,
    design_id   text NOT NULL,
    final_rank  bigint NOT NULL,
    of_run      text NOT NULL,            -- of the job, for which binder_rmsd holds; empty: not measured
    binder_rmsd double precision NOT NULL -- Å; below 0: it cannot be measured
);
CREATE INDEX design_fold_workflow ON design_fold (workflow_id, job_id);
-- +goose Down
DROP TABLE design_fold;
DROP TABLE run_file;
DROP TABLE design;

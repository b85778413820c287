-- Lists of what one person made in a project. A person's own project needs no index: nearly all is the person's.
-- +goose Up
CREATE INDEX job_creator ON job (project_id, created_by, id)
    WHERE deleted_at = 0 AND batch_id = '' AND created_by <> '' AND created_by <> project_id;
CREATE INDEX workflow_creator ON workflow (project_id, created_by, id)
    WHERE deleted_at = 0 AND created_by <> '' AND created_by <> project_id;

-- +goose Down
DROP INDEX workflow_creator;
DROP INDEX job_creator;

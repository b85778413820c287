-- What a user's library and drafts count for against the limits of that user, and what is deleted with a job.

-- +goose Up
ALTER TABLE library_file ADD COLUMN counted bigint NOT NULL DEFAULT 0; -- bytes; 0: the blob belongs to a run
UPDATE library_file SET counted = bytes
WHERE NOT EXISTS (SELECT 1 FROM artifact a WHERE a.blob_key = library_file.blob_key);

ALTER TABLE library_item ADD COLUMN entries bigint NOT NULL DEFAULT 0; -- itself and its files; 0: a simulation's own
ALTER TABLE library_item ADD COLUMN bytes bigint NOT NULL DEFAULT 0; -- of its metadata and files
DELETE FROM library_item WHERE deleted_at <> 0;
UPDATE library_item SET
    entries = CASE WHEN origin = 'workflow' AND workflow_id <> '' THEN 0 ELSE 1 END
        + (SELECT count(*) FROM library_file f WHERE f.item_id = library_item.id AND f.counted > 0),
    bytes = length(metadata)
        + (SELECT COALESCE(sum(f.counted), 0) FROM library_file f WHERE f.item_id = library_item.id);
CREATE INDEX library_use ON library_item (account_id, entries, bytes);

ALTER TABLE workflow ADD COLUMN input_bytes bigint NOT NULL DEFAULT 0;
UPDATE workflow SET input_bytes = length(input);
CREATE INDEX workflow_draft ON workflow (account_id, input_bytes) WHERE run_id = '' AND deleted_at = 0;

ALTER TABLE workflow ADD COLUMN started_by text NOT NULL DEFAULT ''; -- the job whose end started it
UPDATE workflow SET started_by = source_job WHERE id IN (SELECT triggered FROM delivery WHERE triggered <> '');
CREATE INDEX workflow_follow ON workflow (started_by) WHERE started_by <> '';
CREATE INDEX workflow_deleted ON workflow (deleted_at) WHERE deleted_at <> 0;
CREATE INDEX job_deleted ON job (deleted_at) WHERE deleted_at <> 0;

ALTER TABLE run ADD COLUMN bytes bigint NOT NULL DEFAULT 0; -- of its input and its files
UPDATE run SET bytes = (SELECT COALESCE(sum(a.bytes), 0) FROM artifact a WHERE a.run_id = run.id);

-- +goose Down
ALTER TABLE run DROP COLUMN bytes;
DROP INDEX job_deleted;
DROP INDEX workflow_deleted;
DROP INDEX workflow_follow;
ALTER TABLE workflow DROP COLUMN started_by;
DROP INDEX workflow_draft;
ALTER TABLE workflow DROP COLUMN input_bytes;
DROP INDEX library_use;
ALTER TABLE library_item DROP COLUMN bytes;
ALTER TABLE library_item DROP COLUMN entries;
ALTER TABLE library_file DROP COLUMN counted;

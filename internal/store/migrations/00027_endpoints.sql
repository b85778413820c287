-- Named endpoints: further ones of a project, each with a filter of events.
-- +goose Up
ALTER TABLE endpoint ADD COLUMN name text NOT NULL DEFAULT '';        -- empty: the default one, or one of a run
ALTER TABLE endpoint ADD COLUMN events bigint NOT NULL DEFAULT 0;     -- a bit for each kind of event; 0: all
ALTER TABLE endpoint ADD COLUMN deleted_at bigint NOT NULL DEFAULT 0; -- its row stays while it has deliveries
DROP INDEX endpoint_global;
CREATE UNIQUE INDEX endpoint_global ON endpoint (project_id) WHERE run_source = '' AND name = '';
CREATE UNIQUE INDEX endpoint_name ON endpoint (project_id, name) WHERE name <> '' AND deleted_at = 0;
CREATE INDEX endpoint_deleted ON endpoint (project_id) WHERE deleted_at <> 0;
CREATE INDEX delivery_receiver ON delivery (project_id, endpoint_id, id, status);

-- +goose Down
-- An older version has no named endpoints, so it could neither send nor show what belongs to them.
DELETE FROM task WHERE delivery_id IN (
    SELECT d.id FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id WHERE e.name <> '');
DELETE FROM attempt WHERE delivery_id IN (
    SELECT d.id FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id WHERE e.name <> '');
DELETE FROM event WHERE source_id = '' AND id IN (
    SELECT d.event_id FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id WHERE e.name <> '');
DELETE FROM delivery WHERE endpoint_id IN (SELECT id FROM endpoint WHERE name <> '');
DELETE FROM endpoint WHERE name <> '';
DROP INDEX delivery_receiver;
DROP INDEX endpoint_deleted;
DROP INDEX endpoint_name;
DROP INDEX endpoint_global;
CREATE UNIQUE INDEX endpoint_global ON endpoint (project_id) WHERE run_source = '';
ALTER TABLE endpoint DROP COLUMN deleted_at;
ALTER TABLE endpoint DROP COLUMN events;
ALTER TABLE endpoint DROP COLUMN name;

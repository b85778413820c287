-- The table task holds the queues alone: a task is deleted when it ends, so that claims and the vacuum of PostgreSQL do
-- not slow down as ended tasks pile up. Attempts are the history; each names what its task worked on.
-- +goose Up
ALTER TABLE attempt ADD COLUMN run_id text;
ALTER TABLE attempt ADD COLUMN delivery_id text;
UPDATE attempt SET
    run_id = (SELECT k.run_id FROM task k WHERE k.id = attempt.task_id),
    delivery_id = (SELECT k.delivery_id FROM task k WHERE k.id = attempt.task_id);
CREATE INDEX attempt_run ON attempt (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX attempt_delivery ON attempt (delivery_id, task_id) WHERE delivery_id IS NOT NULL;
DELETE FROM task WHERE state IN ('done', 'failed', 'stopped');
ALTER TABLE task DROP COLUMN ended_at;
-- +goose Down
ALTER TABLE task ADD COLUMN ended_at bigint NOT NULL DEFAULT 0;
INSERT INTO task (
    id, kind, queue, account_id, tenant, position, run_id, delivery_id, state, attempt, tries, max_tries, memory, run_at,
    lease_until, worker_id, cancel, checkpoint, checkpoint_step, created_at, ended_at)
SELECT
    a.task_id, COALESCE(r.kind, CASE d.destination WHEN 'custom_http' THEN 'deliver' ELSE 'follow' END), '',
    COALESCE(r.account_id, d.account_id), '', 0, a.run_id, a.delivery_id,
    CASE WHEN a.outcome IN ('done', 'failed') THEN a.outcome ELSE 'stopped' END, a.number, 0, 0, 0, 0,
    0, a.worker_id, 0, '', 0, a.started_at, a.ended_at
FROM attempt a
LEFT JOIN run r ON r.id = a.run_id
LEFT JOIN delivery d ON d.id = a.delivery_id
WHERE NOT EXISTS (SELECT 1 FROM task k WHERE k.id = a.task_id)
    AND NOT EXISTS (SELECT 1 FROM attempt o WHERE o.task_id = a.task_id AND o.number > a.number)
    AND (r.id IS NOT NULL OR d.id IS NOT NULL);
DROP INDEX attempt_delivery;
DROP INDEX attempt_run;
ALTER TABLE attempt DROP COLUMN delivery_id;
ALTER TABLE attempt DROP COLUMN run_id;

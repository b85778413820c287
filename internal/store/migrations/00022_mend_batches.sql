-- Rows that share a job do not repeat its scores. A retry goes through the rows in their order, and does not compare
-- times, which several nodes may have set.
-- +goose Up
ALTER TABLE batch RENAME COLUMN retry_before TO retry_row; -- from which failed jobs are run again; 0: none
UPDATE batch SET retry_row = 1 WHERE retry_row > 0;
DELETE FROM batch_score
WHERE EXISTS (
    SELECT 1 FROM batch_row r
    WHERE r.batch_id = batch_score.batch_id AND r.number = batch_score.number AND r.same_as <> r.number
);
-- +goose Down
ALTER TABLE batch RENAME COLUMN retry_row TO retry_before;
INSERT INTO batch_score (batch_id, number, name, value)
SELECT r.batch_id, r.number, s.name, s.value
FROM batch_row r
JOIN batch_score s ON s.batch_id = r.batch_id AND s.number = r.same_as
WHERE r.same_as <> r.number;

-- Rows that share a job do not repeat its scores.
-- +goose Up
DELETE FROM batch_score
WHERE EXISTS (
    SELECT 1 FROM batch_row r
    WHERE r.batch_id = batch_score.batch_id AND r.number = batch_score.number AND r.same_as <> r.number
);
-- +goose Down
INSERT INTO batch_score (batch_id, number, name, value)
SELECT r.batch_id, r.number, s.name, s.value
FROM batch_row r
JOIN batch_score s ON s.batch_id = r.batch_id AND s.number = r.same_as
WHERE r.same_as <> r.number;

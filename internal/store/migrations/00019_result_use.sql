-- How many bytes the runs of an account hold, so that a creation need not add up all of them. The sum over the parts
-- counts: runs that end at the same time change different parts and do not wait for one another.
-- +goose Up
CREATE TABLE result_use (
    account_id text NOT NULL,
    part       bigint NOT NULL,
    bytes      bigint NOT NULL, -- of one part, which may be negative
    PRIMARY KEY (account_id, part)
);
INSERT INTO result_use (account_id, part, bytes)
SELECT account_id, 0, CAST(sum(bytes) AS bigint) FROM run GROUP BY account_id;
-- +goose Down
DROP TABLE result_use;

-- Which alignments are being searched for, so that each is searched once among all workers, and which have been found,
-- so that a check of a batch can tell.
-- +goose Up
CREATE TABLE msa_search (
    key         text PRIMARY KEY, -- of the cache entry in the artifact store
    account_id  text NOT NULL,    -- whose alignment it is; empty: all users share it
    protein     text NOT NULL,    -- SHA-256 of its sequence, in hex; empty: of several, paired
    worker_id   text NOT NULL,    -- which searches
    lease_until bigint NOT NULL,  -- until when no other worker searches
    found_at    bigint NOT NULL   -- 0: not yet
);
CREATE INDEX msa_search_found ON msa_search (account_id, protein) WHERE found_at <> 0;
CREATE INDEX msa_search_age ON msa_search (found_at, lease_until);
-- +goose Down
DROP TABLE msa_search;

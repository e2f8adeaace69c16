-- Only for PostgreSQL: an inverted index of our own terms, and fill factors for rows that change
-- often. A tenant's number prefixes its search terms, so that every posting list of the index
-- belongs to one tenant.
ALTER TABLE tenants SET (fillfactor = 70);
ALTER TABLE journal_heads SET (fillfactor = 70);
ALTER TABLE session_directory SET (fillfactor = 70);
ALTER TABLE playbooks SET (fillfactor = 70);

CREATE TABLE artifacts (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant         bigint NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    artifact_id    text NOT NULL,
    session        text,
    kind           text NOT NULL,
    turn           integer,
    created_at     double precision NOT NULL,
    length         integer NOT NULL,
    retired        boolean NOT NULL DEFAULT false,
    -- The speaker as search terms; '' without one.
    speaker        text NOT NULL,
    -- Whether it ends in a question, which the next turn may answer.
    asks           boolean NOT NULL,
    terms          text NOT NULL,
    lexemes        tsvector NOT NULL,
    body           text NOT NULL,
    UNIQUE (tenant, artifact_id)
);
CREATE INDEX artifacts_by_session ON artifacts (tenant, session, kind, turn, id)
    WHERE NOT retired;
CREATE INDEX artifacts_by_turn ON artifacts (tenant, session, turn, id) WHERE NOT retired;
CREATE INDEX artifacts_by_time ON artifacts (tenant, created_at, id) WHERE NOT retired;
-- The index separates blocks of 512 rows in order of storage, so that the newest rows with a common
-- term are found block by block from the last one back, and only they are read.
-- New terms are batched in the pending list, some fifty artifacts at a time: inserted one by one,
-- each term would rewrite its whole posting list, which grows with a session. A search scans the
-- pending list too: at most 64 kB, PostgreSQL's minimum.
CREATE INDEX artifacts_by_term ON artifacts USING gin (lexemes, (ARRAY[id / 512]))
    WITH (fastupdate = on, gin_pending_list_limit = 64) WHERE NOT retired;

-- The model that embedded an artifact last, 0 for none; indexed for the embedding backfill. The
-- vectors are in separate tables, created on demand if pgvector is available.
CREATE TABLE artifact_embeddings (
    artifact       bigint PRIMARY KEY REFERENCES artifacts (id) ON DELETE CASCADE,
    tenant         bigint NOT NULL,
    model          integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX artifact_embeddings_by_model ON artifact_embeddings (model, artifact);
CREATE INDEX artifact_embeddings_by_tenant ON artifact_embeddings (tenant, model);

-- Only for SQLite: FTS5, and triggers that keep totals and the index consistent.
-- A tenant's number prefixes its search terms, so that every posting list belongs to one tenant.
CREATE TABLE artifacts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant         INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    artifact_id    TEXT NOT NULL,
    session        TEXT,
    kind           TEXT NOT NULL,
    turn           INTEGER,
    created_at     REAL NOT NULL,
    length         INTEGER NOT NULL,
    retired        INTEGER NOT NULL DEFAULT 0,
    -- The speaker as search terms; '' without one.
    speaker        TEXT NOT NULL,
    -- Whether it ends in a question, which the next turn may answer.
    asks           INTEGER NOT NULL,
    body           TEXT NOT NULL,
    -- The model that embedded it last, 0 for none; indexed for the embedding backfill.
    embedded       INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, artifact_id)
);
CREATE INDEX artifacts_by_session ON artifacts (tenant, session, kind, retired, turn);
CREATE INDEX artifacts_by_turn ON artifacts (tenant, session, turn) WHERE NOT retired;
CREATE INDEX artifacts_by_time ON artifacts (tenant, created_at) WHERE NOT retired;
CREATE INDEX artifacts_by_embedding ON artifacts (embedded, id) WHERE NOT retired;
CREATE VIRTUAL TABLE artifact_terms USING fts5 (terms, tokenize = 'unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE artifact_vocabulary USING fts5vocab (artifact_terms, 'row');

CREATE TRIGGER artifact_added AFTER INSERT ON artifacts WHEN NOT new.retired BEGIN
    UPDATE tenants SET documents = documents + 1, terms = terms + new.length,
           oldest = CASE oldest WHEN 0 THEN new.id ELSE oldest END, newest = new.id
     WHERE id = new.tenant;
END;
CREATE TRIGGER artifact_retired AFTER UPDATE OF retired ON artifacts
WHEN new.retired AND NOT old.retired BEGIN
    DELETE FROM artifact_terms WHERE rowid = old.id;
    UPDATE tenants SET documents = documents - 1, terms = terms - old.length
     WHERE id = old.tenant;
END;
CREATE TRIGGER artifact_deleted AFTER DELETE ON artifacts WHEN NOT old.retired BEGIN
    DELETE FROM artifact_terms WHERE rowid = old.id;
    UPDATE tenants SET documents = documents - 1, terms = terms - old.length
     WHERE id = old.tenant;
END;

-- Vectors: one per chunk of a long artifact, of one model at a time.
CREATE TABLE artifact_vectors (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    artifact       INTEGER NOT NULL REFERENCES artifacts (id) ON DELETE CASCADE,
    tenant         INTEGER NOT NULL,
    model          INTEGER NOT NULL REFERENCES vector_models (id),
    -- 16-bit floats, little-endian, of length 1.
    vector         BLOB NOT NULL
);
CREATE INDEX artifact_vectors_by_artifact ON artifact_vectors (artifact);
CREATE INDEX artifact_vectors_by_tenant ON artifact_vectors (tenant, model, id);

-- The number of a tenant's vectors per model.
CREATE TABLE tenant_vectors (
    tenant         INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    model          INTEGER NOT NULL REFERENCES vector_models (id),
    vectors        INTEGER NOT NULL,
    PRIMARY KEY (tenant, model)
) WITHOUT ROWID;

CREATE TRIGGER vector_added AFTER INSERT ON artifact_vectors BEGIN
    INSERT INTO tenant_vectors (tenant, model, vectors) VALUES (new.tenant, new.model, 1)
        ON CONFLICT DO UPDATE SET vectors = vectors + 1;
END;
CREATE TRIGGER vector_deleted AFTER DELETE ON artifact_vectors BEGIN
    UPDATE tenant_vectors SET vectors = vectors - 1
     WHERE tenant = old.tenant AND model = old.model;
END;
CREATE TRIGGER vectors_retired AFTER UPDATE OF retired ON artifacts
WHEN new.retired AND NOT old.retired BEGIN
    DELETE FROM artifact_vectors WHERE artifact = old.id;
END;

-- Vectors of artifacts: one for each part of a long one, of one model at a time.
CREATE TABLE vector_models (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL,
    dimension   INTEGER NOT NULL,
    UNIQUE (name, dimension)
);
CREATE TABLE artifact_vectors (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    artifact    INTEGER NOT NULL,
    tenant      INTEGER NOT NULL,
    model       INTEGER NOT NULL REFERENCES vector_models (id),
    -- 16-bit floats, little-endian, of length 1.
    vector      BLOB NOT NULL
);
CREATE INDEX artifact_vectors_by_artifact ON artifact_vectors (artifact);
CREATE INDEX artifact_vectors_by_tenant ON artifact_vectors (tenant, model, id);

-- How many vectors a tenant has of each model.
CREATE TABLE tenant_vectors (
    tenant      INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    model       INTEGER NOT NULL REFERENCES vector_models (id),
    vectors     INTEGER NOT NULL,
    PRIMARY KEY (tenant, model)
) WITHOUT ROWID;

-- The model by which an artifact was embedded last, 0 for none; what else is still to be done.
ALTER TABLE artifacts ADD COLUMN embedded INTEGER NOT NULL DEFAULT 0;
CREATE INDEX artifacts_by_embedding ON artifacts (embedded, id) WHERE NOT retired;

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
CREATE TRIGGER vectors_of_deleted AFTER DELETE ON artifacts BEGIN
    DELETE FROM artifact_vectors WHERE artifact = old.id;
END;

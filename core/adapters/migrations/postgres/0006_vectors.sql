-- Which model embedded an artifact last; 0 for none, so that what is to be done is found at once.
-- The vectors themselves are in tables of their own, made when pgvector is there and needed.
CREATE TABLE vector_models (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    dimension   integer NOT NULL,
    UNIQUE (name, dimension)
);
CREATE TABLE artifact_embeddings (
    artifact    bigint PRIMARY KEY REFERENCES artifacts (id) ON DELETE CASCADE,
    tenant      bigint NOT NULL,
    model       integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX artifact_embeddings_by_model ON artifact_embeddings (model, artifact);
CREATE INDEX artifact_embeddings_by_tenant ON artifact_embeddings (tenant, model);
INSERT INTO artifact_embeddings (artifact, tenant)
    SELECT id, tenant FROM artifacts WHERE NOT retired;

-- Who speaks in an artifact, as search terms; '' when nobody is named.
ALTER TABLE artifacts ADD COLUMN speaker TEXT NOT NULL DEFAULT '';

-- The turns beside a turn.
CREATE INDEX artifacts_by_turn ON artifacts (tenant, session, turn) WHERE NOT retired;

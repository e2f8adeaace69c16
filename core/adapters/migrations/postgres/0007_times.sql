-- Whether an artifact ends in a question, which the next turn may answer. Of those that were
-- stored before nobody looked: they count as no question.
ALTER TABLE artifacts ADD COLUMN asks boolean NOT NULL DEFAULT false;

-- The artifacts of a time that a question names.
CREATE INDEX artifacts_by_time ON artifacts (tenant, created_at, id) WHERE NOT retired;

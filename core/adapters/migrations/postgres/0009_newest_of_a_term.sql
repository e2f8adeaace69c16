-- The index tells blocks of 4,096 rows apart, by when they were stored. So the newest rows that hold
-- a common term are found block by block from the last one back, and only they are read. By terms
-- alone it gives all rows of a term, the oldest first.
DROP INDEX artifacts_by_term;
CREATE INDEX artifacts_by_term ON artifacts USING gin (lexemes, (ARRAY[id / 4096]))
    WITH (fastupdate = on, gin_pending_list_limit = 64) WHERE NOT retired;

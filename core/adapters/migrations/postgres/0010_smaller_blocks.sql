-- Blocks of 512 rows, of which a search asks for as many at once as a term is rare: of a common one
-- it read all rows of a block of 4,096, and for a rare one it went through too many blocks.
DROP INDEX artifacts_by_term;
CREATE INDEX artifacts_by_term ON artifacts USING gin (lexemes, (ARRAY[id / 512]))
    WITH (fastupdate = on, gin_pending_list_limit = 64) WHERE NOT retired;

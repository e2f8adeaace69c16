-- New terms wait in a list and go to the index some fifty artifacts at a time. One by one, each of
-- an artifact's terms rewrote the whole list of artifacts that hold it, which grows with a session.
-- A search reads the waiting ones too: at most 64 kB, the least that PostgreSQL lets one set.
ALTER INDEX artifacts_by_term SET (fastupdate = on, gin_pending_list_limit = 64);

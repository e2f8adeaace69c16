-- CCS_t is read through from the journal: a copy would outlive what an undo or an erasure takes away.
DELETE FROM adk_session_state WHERE key = 'ccs';

-- CCS_t is read through from the journal: a copy would outlive what an undo or an erasure takes away.
-- Where there is no journal, the key is of a host's own.
DELETE FROM adk_session_state WHERE key = 'ccs' AND session_id IN (
    SELECT adk_sessions.id FROM adk_sessions
      JOIN journal_heads ON journal_heads.app = adk_sessions.app
       AND journal_heads.user_id = adk_sessions.user_id
       AND journal_heads.session = adk_sessions.session
);

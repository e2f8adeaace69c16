-- What the own state of ADK's sessions was before their oldest event: what they began with, and
-- what deleted events left. A rewind reads there what a key was.
CREATE TABLE base_states (
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    state       text NOT NULL,
    PRIMARY KEY (app, user_id, session),
    FOREIGN KEY (app, user_id, session) REFERENCES sessions ON DELETE CASCADE
) WITH (fillfactor = 70);

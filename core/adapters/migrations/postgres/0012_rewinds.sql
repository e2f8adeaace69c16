-- From where to where rewinds of ADK's took events back; a place is an event's time and number.
-- Rewinds that count do not overlap: one that is taken back itself takes nothing back.
CREATE TABLE rewinds (
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    since       double precision NOT NULL,
    since_seq   bigint NOT NULL,
    until       double precision NOT NULL,
    until_seq   bigint NOT NULL,
    counts      boolean NOT NULL,
    PRIMARY KEY (app, user_id, session, until, until_seq),
    FOREIGN KEY (app, user_id, session) REFERENCES sessions ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX rewinds_that_count ON rewinds (app, user_id, session, until, until_seq) WHERE counts;

-- Sessions: when they lived and what became of their words. `body` holds the whole record.
CREATE TABLE session_directory (
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    active_at   double precision NOT NULL,
    to_offload  boolean NOT NULL,
    body        text NOT NULL,
    PRIMARY KEY (app, user_id, session)
) WITH (fillfactor = 70);
CREATE INDEX session_directory_by_activity ON session_directory (app, user_id, active_at, session);
CREATE INDEX session_directory_idle ON session_directory (app, active_at) WHERE to_offload;

-- Durable work that is not done yet.
CREATE TABLE jobs (
    id          text PRIMARY KEY,
    app         text NOT NULL,
    user_id     text NOT NULL,
    due_at      double precision NOT NULL,
    given_up    boolean NOT NULL,
    body        text NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX jobs_due ON jobs (due_at, id) WHERE NOT given_up;
CREATE INDEX jobs_by_user ON jobs (app, user_id, due_at, id);

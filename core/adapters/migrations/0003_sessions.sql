-- Sessions: when they lived and what became of their words. `body` holds the whole record.
CREATE TABLE session_directory (
    app         TEXT NOT NULL,
    user        TEXT NOT NULL,
    session     TEXT NOT NULL,
    active_at   REAL NOT NULL,
    to_offload  INTEGER NOT NULL DEFAULT 1,
    body        TEXT NOT NULL,
    PRIMARY KEY (app, user, session)
) WITHOUT ROWID;
CREATE INDEX session_directory_by_activity ON session_directory (app, user, active_at);
CREATE INDEX session_directory_idle ON session_directory (app, to_offload, active_at);

-- Durable work that is not done yet.
CREATE TABLE jobs (
    id          TEXT PRIMARY KEY,
    app         TEXT NOT NULL,
    user        TEXT NOT NULL,
    due_at      REAL NOT NULL,
    given_up    INTEGER NOT NULL DEFAULT 0,
    body        TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (given_up, due_at);
CREATE INDEX jobs_by_user ON jobs (app, user, due_at);

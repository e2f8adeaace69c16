-- ADK's sessions and events. State is kept key by key, so that two writers of different keys
-- never undo one another.
CREATE TABLE sessions (
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    created_at  double precision NOT NULL,
    updated_at  double precision NOT NULL,
    PRIMARY KEY (app, user_id, session)
) WITH (fillfactor = 70);
CREATE TABLE session_state (
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    key         text NOT NULL,
    value       text NOT NULL,
    PRIMARY KEY (app, user_id, session, key),
    FOREIGN KEY (app, user_id, session) REFERENCES sessions ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE TABLE shared_state (
    app         text NOT NULL,
    -- NULL: of all users of the app.
    user_id     text,
    key         text NOT NULL,
    value       text NOT NULL
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX shared_state_of_users ON shared_state (app, user_id, key)
    WHERE user_id IS NOT NULL;
CREATE UNIQUE INDEX shared_state_of_apps ON shared_state (app, key) WHERE user_id IS NULL;
CREATE TABLE events (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    event_id    text NOT NULL,
    happened_at double precision NOT NULL,
    body        text NOT NULL,
    UNIQUE (app, user_id, session, event_id),
    FOREIGN KEY (app, user_id, session) REFERENCES sessions ON DELETE CASCADE
);
CREATE INDEX events_by_time ON events (app, user_id, session, happened_at, seq);

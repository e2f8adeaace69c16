-- ADK's sessions. All data of one references its row: deleting that row deletes it all.
CREATE TABLE adk_sessions (
    id          {id},
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    created_at  double precision NOT NULL,
    updated_at  double precision NOT NULL,
    -- JSON: the session's state before its oldest event, which a rewind may restore.
    base_state  text NOT NULL,
    UNIQUE (app, user_id, session),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);

-- State has one row per key, so that concurrent writers of different keys do not conflict.
CREATE TABLE adk_session_state (
    session_id  bigint NOT NULL REFERENCES adk_sessions (id) ON DELETE CASCADE,
    key         text NOT NULL,
    value       text NOT NULL,
    PRIMARY KEY (session_id, key)
);

CREATE TABLE adk_user_state (
    app         text NOT NULL,
    user_id     text NOT NULL,
    key         text NOT NULL,
    value       text NOT NULL,
    PRIMARY KEY (app, user_id, key),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);

CREATE TABLE adk_app_state (
    app         text NOT NULL,
    key         text NOT NULL,
    value       text NOT NULL,
    PRIMARY KEY (app, key)
);

-- `seq` is the order of events, regardless of clocks.
CREATE TABLE adk_events (
    seq           {id},
    session_id    bigint NOT NULL REFERENCES adk_sessions (id) ON DELETE CASCADE,
    event_id      text NOT NULL,
    invocation_id text NOT NULL,
    happened_at   double precision NOT NULL,
    body          text NOT NULL,
    UNIQUE (session_id, event_id)
);
CREATE INDEX adk_events_in_order ON adk_events (session_id, seq);
CREATE INDEX adk_events_by_invocation ON adk_events (session_id, invocation_id);

-- Calls that wait for a person's answer. `answered_in` is the invocation with the answer.
CREATE TABLE adk_open_calls (
    seq           {id},
    session_id    bigint NOT NULL REFERENCES adk_sessions (id) ON DELETE CASCADE,
    call_id       text NOT NULL,
    invocation_id text NOT NULL,
    answered_in   text,
    UNIQUE (session_id, call_id)
);

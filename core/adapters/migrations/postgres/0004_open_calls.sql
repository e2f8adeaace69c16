-- An invocation is loaded and deleted as a whole, so that no call is cut from its result.
ALTER TABLE events ADD COLUMN invocation_id text NOT NULL DEFAULT '';
-- PostgreSQL reads no JSON with an escaped NUL in it, which a user's text may hold.
UPDATE events SET invocation_id = coalesce(
    regexp_replace(body, '(\\\\)|\\u0000', '\1', 'g')::json ->> 'invocation_id', '');
CREATE INDEX events_by_invocation ON events (app, user_id, session, invocation_id);
DROP INDEX events_by_time;
CREATE INDEX events_by_time ON events (app, user_id, session, happened_at, seq)
    INCLUDE (invocation_id);

-- Calls that wait for a person's answer. `answered_in` is the invocation that brought it.
CREATE TABLE open_calls (
    seq           bigint GENERATED ALWAYS AS IDENTITY,
    app           text NOT NULL,
    user_id       text NOT NULL,
    session       text NOT NULL,
    call_id       text NOT NULL,
    invocation_id text NOT NULL,
    answered_in   text,
    PRIMARY KEY (app, user_id, session, call_id),
    FOREIGN KEY (app, user_id, session) REFERENCES sessions ON DELETE CASCADE
);

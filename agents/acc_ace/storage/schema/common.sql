-- Tables that SQLite and PostgreSQL both understand. `{id}` stands for a key that counts by itself.
-- Everything of a user hangs on the user's row in `tenants`: deleting that row deletes it all.

-- Users by number. The totals are those of visible artifacts, as BM25 needs them; `oldest` and
-- `newest` are the first and the last row of the index, 0 before there is any.
CREATE TABLE tenants (
    id             {id},
    app            text NOT NULL,
    user_id        text NOT NULL,
    documents      bigint NOT NULL DEFAULT 0,
    terms          bigint NOT NULL DEFAULT 0,
    oldest         bigint NOT NULL DEFAULT 0,
    newest         bigint NOT NULL DEFAULT 0,
    UNIQUE (app, user_id)
);

-- The journal: every version of every session's state.
CREATE TABLE journal (
    seq            {id},
    app            text NOT NULL,
    user_id        text NOT NULL,
    session        text NOT NULL,
    version        integer NOT NULL CHECK (version >= 1),
    digest         text NOT NULL,
    body           text NOT NULL,
    UNIQUE (app, user_id, session, version),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);

-- The newest entry of each session; `seq` orders sessions by their last change.
CREATE TABLE journal_heads (
    app            text NOT NULL,
    user_id        text NOT NULL,
    session        text NOT NULL,
    version        integer NOT NULL,
    seq            bigint NOT NULL REFERENCES journal (seq) ON DELETE CASCADE,
    PRIMARY KEY (app, user_id, session)
);
CREATE INDEX journal_heads_by_change ON journal_heads (app, user_id, seq);
CREATE INDEX journal_heads_by_seq ON journal_heads (seq);

-- Evidence: every turn's input, tool results and decision.
CREATE TABLE interactions (
    seq            {id},
    app            text NOT NULL,
    user_id        text NOT NULL,
    session        text NOT NULL,
    invocation_id  text NOT NULL,
    turn           integer NOT NULL,
    outcome        text NOT NULL,
    request        text,
    body           text NOT NULL,
    UNIQUE (app, user_id, session, invocation_id),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);
-- A caller's idempotency key names one committed turn of a session.
CREATE UNIQUE INDEX interactions_by_request ON interactions (app, user_id, session, request)
    WHERE request IS NOT NULL;
CREATE INDEX interactions_by_turn ON interactions (app, user_id, session, turn, seq);

-- Calls of tools that act, written down before they are made: a turn that died is no silent repeat.
CREATE TABLE tool_starts (
    app            text NOT NULL,
    user_id        text NOT NULL,
    session        text NOT NULL,
    turn           integer NOT NULL,
    call_id        text NOT NULL,
    name           text NOT NULL,
    args           text NOT NULL,
    started_at     double precision NOT NULL,
    PRIMARY KEY (app, user_id, session, call_id),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);
CREATE INDEX tool_starts_by_turn ON tool_starts (app, user_id, session, turn);

-- Rules that hold in every session of a user. One that was lifted has an empty body: its id is
-- never given to another rule.
CREATE TABLE user_rules (
    app            text NOT NULL,
    user_id        text NOT NULL,
    rule_id        text NOT NULL,
    body           text NOT NULL,
    PRIMARY KEY (app, user_id, rule_id),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);

-- Sessions: when they lived and what became of their words. `body` holds the whole record.
CREATE TABLE session_directory (
    app            text NOT NULL,
    user_id        text NOT NULL,
    session        text NOT NULL,
    active_at      double precision NOT NULL,
    -- Since when its offload has been waiting; NULL: nothing to offload. An offload that starts
    -- moves it on, so that it is due again should that fail.
    idle_since     double precision,
    body           text NOT NULL,
    PRIMARY KEY (app, user_id, session),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);
CREATE INDEX session_directory_by_activity ON session_directory (app, user_id, active_at, session);
CREATE INDEX session_directory_idle ON session_directory (app, idle_since, user_id, session)
    WHERE idle_since IS NOT NULL;

-- Playbooks: one row per bullet, the log that leads to it, and a snapshot now and then. `branch` is
-- '' for the main one; `parent` is what another one was forked from, at which version. `tenant` is
-- whose playbook it is, NULL for a shared one.
CREATE TABLE playbooks (
    id             {id},
    tenant         bigint REFERENCES tenants (id) ON DELETE CASCADE,
    app            text NOT NULL,
    shared         boolean NOT NULL,
    user_id        text NOT NULL,
    branch         text NOT NULL,
    version        integer NOT NULL,
    next_id        integer NOT NULL,
    digest         text NOT NULL,
    last_seq       bigint NOT NULL,
    last_position  bigint NOT NULL,
    parent         bigint REFERENCES playbooks (id) ON DELETE SET NULL,
    parent_version integer,
    UNIQUE (app, shared, user_id, branch),
    CHECK (shared OR tenant IS NOT NULL)
);
CREATE INDEX playbooks_by_tenant ON playbooks (tenant) WHERE tenant IS NOT NULL;
CREATE INDEX playbooks_by_parent ON playbooks (parent) WHERE parent IS NOT NULL;
CREATE TABLE playbook_bullets (
    playbook       bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    bullet_id      text NOT NULL,
    position       bigint NOT NULL,
    body           text NOT NULL,
    PRIMARY KEY (playbook, bullet_id)
);
-- Columns to search the log by. `standing`: a held operation that nobody decided yet, or an
-- archived bullet that did not return.
CREATE TABLE playbook_deltas (
    playbook       bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    seq            bigint NOT NULL,
    version        integer NOT NULL,
    user_id        text NOT NULL,
    kind           text NOT NULL,
    status         text NOT NULL,
    bullet_id      text,
    merged_into    text,
    standing       boolean NOT NULL,
    body           text NOT NULL,
    PRIMARY KEY (playbook, seq)
);
CREATE INDEX playbook_deltas_by_version ON playbook_deltas (playbook, version, seq);
CREATE INDEX playbook_deltas_by_user ON playbook_deltas (user_id, playbook) WHERE user_id <> '';
CREATE INDEX playbook_deltas_by_bullet ON playbook_deltas (playbook, bullet_id, seq)
    WHERE bullet_id IS NOT NULL;
CREATE INDEX playbook_deltas_by_survivor ON playbook_deltas (playbook, merged_into, seq)
    WHERE merged_into IS NOT NULL;
CREATE INDEX playbook_deltas_standing ON playbook_deltas (playbook, status, seq) WHERE standing;
CREATE TABLE playbook_versions (
    playbook       bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    version        integer NOT NULL,
    digest         text NOT NULL,
    created_at     text NOT NULL,
    bullets        integer NOT NULL,
    counts         text NOT NULL,
    PRIMARY KEY (playbook, version)
);
CREATE TABLE playbook_snapshots (
    playbook       bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    version        integer NOT NULL,
    body           text NOT NULL,
    PRIMARY KEY (playbook, version)
);
-- Digests of the names of commits, so that a repeated commit finds itself.
CREATE TABLE playbook_commits (
    playbook       bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    commit_id      text NOT NULL,
    version        integer NOT NULL,
    PRIMARY KEY (playbook, commit_id)
);

-- Models that give vectors.
CREATE TABLE vector_models (
    id             {id},
    name           text NOT NULL,
    dimension      integer NOT NULL,
    UNIQUE (name, dimension)
);

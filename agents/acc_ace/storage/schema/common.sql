-- Tables shared by SQLite and PostgreSQL. `{id}` is replaced by an auto-incrementing key.
-- All data of a user references the user's row in `tenants`: deleting that row deletes it all.

-- Users by number. The totals count visible artifacts, for BM25; `oldest` and `newest` are the
-- first and the last row of the index, 0 without any.
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
-- A caller's idempotency key identifies one committed turn of a session.
CREATE UNIQUE INDEX interactions_by_request ON interactions (app, user_id, session, request)
    WHERE request IS NOT NULL;
CREATE INDEX interactions_by_turn ON interactions (app, user_id, session, turn, seq);

-- What the models of the newest turns were asked and answered, and what was recalled for them: a row
-- for each commit of a turn, compressed (zlib). SQLite keeps bytes in a column of any type.
CREATE TABLE turn_traces (
    seq            {id},
    app            text NOT NULL,
    user_id        text NOT NULL,
    session        text NOT NULL,
    turn           integer NOT NULL,
    run            text NOT NULL,
    invocation_id  text NOT NULL,
    body           bytea NOT NULL,
    UNIQUE (app, user_id, session, turn, run),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);

-- Write-ahead log of calls of tools with side effects, so that a call is never silently repeated.
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

-- User-wide rules. A released one stays as a tombstone with an empty body, so that its id is never
-- reused.
CREATE TABLE user_rules (
    app            text NOT NULL,
    user_id        text NOT NULL,
    rule_id        text NOT NULL,
    body           text NOT NULL,
    PRIMARY KEY (app, user_id, rule_id),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);

-- What each run of a turn used of each model, by stage, and what that cost: `nano` is in billionths
-- of a US dollar, NULL where the price is unknown. The stage 'replay' is what the transcript would
-- have used in place of the turn, and no part of what was spent.
CREATE TABLE model_uses (
    run            text NOT NULL,
    stage          text NOT NULL,
    model          text NOT NULL,
    app            text NOT NULL,
    user_id        text NOT NULL,
    session        text NOT NULL,
    turn           integer NOT NULL,
    calls          bigint NOT NULL,
    failed         bigint NOT NULL,
    input          bigint NOT NULL,
    cached         bigint NOT NULL,
    output         bigint NOT NULL,
    thinking       bigint NOT NULL,
    estimated      integer NOT NULL,
    nano           bigint,
    PRIMARY KEY (run, stage, model),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);
CREATE INDEX model_uses_by_turn ON model_uses (app, user_id, session, turn);

-- Their sums by day (UTC, '2026-01-31') and session. A deleted session's are under the session '',
-- so that what was spent on a day stays known.
CREATE TABLE spending (
    app            text NOT NULL,
    user_id        text NOT NULL,
    day            text NOT NULL,
    session        text NOT NULL,
    nano           bigint NOT NULL,
    unpriced       bigint NOT NULL,
    replay_nano    bigint NOT NULL,
    PRIMARY KEY (app, user_id, day, session),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);
CREATE INDEX spending_by_session ON spending (app, user_id, session);

-- Sessions: when they lived and what became of their words. `body` holds the whole record.
CREATE TABLE session_directory (
    app            text NOT NULL,
    user_id        text NOT NULL,
    session        text NOT NULL,
    active_at      double precision NOT NULL,
    -- Since when its offload is due; NULL: nothing to offload. A starting offload moves it
    -- forward, so that it is retried after a failure.
    idle_since     double precision,
    body           text NOT NULL,
    PRIMARY KEY (app, user_id, session),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);
CREATE INDEX session_directory_by_activity ON session_directory (app, user_id, active_at, session);
CREATE INDEX session_directory_idle ON session_directory (app, idle_since, user_id, session)
    WHERE idle_since IS NOT NULL;

-- Playbooks: one row per bullet, the delta log, and periodic snapshots. `tenant` is the owner, NULL
-- for a shared playbook. Rows whose `branch` is not '', `parent` and `parent_version` are those of
-- earlier programs and are not read: a user's own leave with the user, those of a shared playbook
-- stay, without the traces of erased users.
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
-- Columns to search the log by. `standing`: a held operation that is undecided, or an archived
-- bullet that was not restored.
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
-- Hashed idempotency keys of commits.
CREATE TABLE playbook_commits (
    playbook       bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    commit_id      text NOT NULL,
    version        integer NOT NULL,
    PRIMARY KEY (playbook, commit_id)
);

-- Embedding models.
CREATE TABLE vector_models (
    id             {id},
    name           text NOT NULL,
    dimension      integer NOT NULL,
    UNIQUE (name, dimension)
);

-- The journal: every version of every session's state.
CREATE TABLE journal (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    version     integer NOT NULL CHECK (version >= 1),
    digest      text NOT NULL,
    body        text NOT NULL,
    UNIQUE (app, user_id, session, version)
);

-- The newest entry of each session; `seq` orders sessions by their last change.
CREATE TABLE journal_heads (
    app         text NOT NULL,
    user_id     text NOT NULL,
    session     text NOT NULL,
    version     integer NOT NULL,
    seq         bigint NOT NULL REFERENCES journal (seq) ON DELETE CASCADE,
    PRIMARY KEY (app, user_id, session)
) WITH (fillfactor = 70);
CREATE INDEX journal_heads_by_change ON journal_heads (app, user_id, seq);
CREATE INDEX journal_heads_by_seq ON journal_heads (seq);

-- Evidence: every turn's input, tool results and decision.
CREATE TABLE interactions (
    seq           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app           text NOT NULL,
    user_id       text NOT NULL,
    session       text NOT NULL,
    invocation_id text NOT NULL,
    turn          integer NOT NULL,
    outcome       text NOT NULL,
    body          text NOT NULL,
    UNIQUE (app, user_id, session, invocation_id)
);
CREATE INDEX interactions_by_turn ON interactions (app, user_id, session, turn, seq);

-- Artifacts. A tenant's number prefixes its search terms, so that every posting list of the
-- index belongs to one tenant; the totals are what BM25 needs.
CREATE TABLE tenants (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app         text NOT NULL,
    user_id     text NOT NULL,
    documents   bigint NOT NULL DEFAULT 0,
    terms       bigint NOT NULL DEFAULT 0,
    oldest      bigint NOT NULL DEFAULT 0,
    newest      bigint NOT NULL DEFAULT 0,
    UNIQUE (app, user_id)
) WITH (fillfactor = 70);
CREATE TABLE artifacts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant      bigint NOT NULL REFERENCES tenants (id),
    artifact_id text NOT NULL,
    session     text,
    kind        text NOT NULL,
    turn        integer,
    created_at  double precision NOT NULL,
    length      integer NOT NULL,
    retired     boolean NOT NULL DEFAULT false,
    speaker     text NOT NULL,
    terms       text NOT NULL,
    lexemes     tsvector NOT NULL,
    body        text NOT NULL,
    UNIQUE (tenant, artifact_id)
);
CREATE INDEX artifacts_by_session ON artifacts (tenant, session, kind, turn, id)
    WHERE NOT retired;
CREATE INDEX artifacts_by_turn ON artifacts (tenant, session, turn, id) WHERE NOT retired;
-- Without a pending list a search costs the same however much was just written.
CREATE INDEX artifacts_by_term ON artifacts USING gin (lexemes) WITH (fastupdate = off)
    WHERE NOT retired;

-- Playbooks: one row per bullet, the log that leads to it, and a snapshot now and then.
-- `commit_id` names the write that a log row came with, so that a repeated write finds itself.
CREATE TABLE playbooks (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app         text NOT NULL,
    shared      boolean NOT NULL,
    user_id     text NOT NULL,
    version     integer NOT NULL,
    next_id     integer NOT NULL,
    digest      text NOT NULL,
    UNIQUE (app, shared, user_id)
) WITH (fillfactor = 70);
CREATE TABLE playbook_bullets (
    playbook    bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    bullet_id   text NOT NULL,
    position    integer NOT NULL,
    body        text NOT NULL,
    PRIMARY KEY (playbook, bullet_id)
);
CREATE TABLE playbook_deltas (
    playbook    bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    seq         bigint NOT NULL,
    version     integer NOT NULL,
    user_id     text NOT NULL,
    commit_id   text NOT NULL,
    body        text NOT NULL,
    PRIMARY KEY (playbook, seq)
);
CREATE INDEX playbook_deltas_by_version ON playbook_deltas (playbook, version, seq);
CREATE INDEX playbook_deltas_by_user ON playbook_deltas (user_id, playbook);
CREATE TABLE playbook_snapshots (
    playbook    bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    version     integer NOT NULL,
    body        text NOT NULL,
    PRIMARY KEY (playbook, version)
);

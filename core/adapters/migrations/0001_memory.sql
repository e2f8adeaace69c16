-- The journal: every version of every session's state.
CREATE TABLE journal (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    app         TEXT NOT NULL,
    user        TEXT NOT NULL,
    session     TEXT NOT NULL,
    version     INTEGER NOT NULL CHECK (version >= 1),
    digest      TEXT NOT NULL,
    body        TEXT NOT NULL,
    UNIQUE (app, user, session, version)
);

-- The newest entry of each session; `seq` orders sessions by their last change.
CREATE TABLE journal_heads (
    app         TEXT NOT NULL,
    user        TEXT NOT NULL,
    session     TEXT NOT NULL,
    version     INTEGER NOT NULL,
    seq         INTEGER NOT NULL REFERENCES journal (seq) ON DELETE CASCADE,
    PRIMARY KEY (app, user, session)
) WITHOUT ROWID;
CREATE INDEX journal_heads_by_change ON journal_heads (app, user, seq);
CREATE INDEX journal_heads_by_seq ON journal_heads (seq);

-- Evidence: every turn's input, tool results and decision.
CREATE TABLE interactions (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    app           TEXT NOT NULL,
    user          TEXT NOT NULL,
    session       TEXT NOT NULL,
    invocation_id TEXT NOT NULL,
    turn          INTEGER NOT NULL,
    outcome       TEXT NOT NULL,
    body          TEXT NOT NULL,
    UNIQUE (app, user, session, invocation_id)
);
CREATE INDEX interactions_by_turn ON interactions (app, user, session, turn, seq);

-- Artifacts. A tenant's number prefixes its search terms, so that every posting list of the
-- index belongs to one tenant; the totals are what BM25 needs, kept by the triggers below.
CREATE TABLE tenants (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    app         TEXT NOT NULL,
    user        TEXT NOT NULL,
    documents   INTEGER NOT NULL DEFAULT 0,
    terms       INTEGER NOT NULL DEFAULT 0,
    oldest      INTEGER,
    newest      INTEGER,
    UNIQUE (app, user)
);
CREATE TABLE artifacts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant      INTEGER NOT NULL REFERENCES tenants (id),
    artifact_id TEXT NOT NULL,
    session     TEXT,
    kind        TEXT NOT NULL,
    turn        INTEGER,
    created_at  REAL NOT NULL,
    terms       INTEGER NOT NULL,
    retired     INTEGER NOT NULL DEFAULT 0,
    body        TEXT NOT NULL,
    UNIQUE (tenant, artifact_id)
);
CREATE INDEX artifacts_by_session ON artifacts (tenant, session, kind, retired, turn);
CREATE VIRTUAL TABLE artifact_terms USING fts5 (terms, tokenize = 'unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE artifact_vocabulary USING fts5vocab (artifact_terms, 'row');

CREATE TRIGGER artifact_added AFTER INSERT ON artifacts WHEN NOT new.retired BEGIN
    UPDATE tenants SET documents = documents + 1, terms = terms + new.terms,
           oldest = ifnull(oldest, new.id), newest = new.id
     WHERE id = new.tenant;
END;
CREATE TRIGGER artifact_retired AFTER UPDATE OF retired ON artifacts
WHEN new.retired AND NOT old.retired BEGIN
    DELETE FROM artifact_terms WHERE rowid = old.id;
    UPDATE tenants SET documents = documents - 1, terms = terms - old.terms
     WHERE id = old.tenant;
END;
CREATE TRIGGER artifact_deleted AFTER DELETE ON artifacts WHEN NOT old.retired BEGIN
    DELETE FROM artifact_terms WHERE rowid = old.id;
    UPDATE tenants SET documents = documents - 1, terms = terms - old.terms
     WHERE id = old.tenant;
END;

-- Playbooks: one row per bullet, the log that leads to it, and a snapshot now and then.
CREATE TABLE playbooks (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    app         TEXT NOT NULL,
    shared      INTEGER NOT NULL,
    user        TEXT NOT NULL,
    version     INTEGER NOT NULL,
    next_id     INTEGER NOT NULL,
    digest      TEXT NOT NULL,
    UNIQUE (app, shared, user)
);
CREATE TABLE playbook_bullets (
    playbook    INTEGER NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    bullet_id   TEXT NOT NULL,
    position    INTEGER NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (playbook, bullet_id)
);
CREATE TABLE playbook_deltas (
    playbook    INTEGER NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    user        TEXT NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (playbook, seq)
);
CREATE INDEX playbook_deltas_by_version ON playbook_deltas (playbook, version, seq);
CREATE INDEX playbook_deltas_by_user ON playbook_deltas (user, playbook);
CREATE TABLE playbook_snapshots (
    playbook    INTEGER NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (playbook, version)
);

-- Who runs a turn of a session now, among all processes that share this file.
CREATE TABLE leases (
    app         TEXT NOT NULL,
    user        TEXT NOT NULL,
    session     TEXT NOT NULL,
    owner       TEXT NOT NULL,
    expires_at  REAL NOT NULL,
    PRIMARY KEY (app, user, session)
) WITHOUT ROWID;

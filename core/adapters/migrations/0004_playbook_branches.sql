-- Playbooks with branches, a row per version and columns to search the log by. SQLite cannot add a
-- column to a UNIQUE constraint, so the tables are made anew and what they held is copied.
ALTER TABLE playbooks RENAME TO old_playbooks;
ALTER TABLE playbook_bullets RENAME TO old_playbook_bullets;
ALTER TABLE playbook_deltas RENAME TO old_playbook_deltas;
ALTER TABLE playbook_snapshots RENAME TO old_playbook_snapshots;
DROP INDEX playbook_deltas_by_version;
DROP INDEX playbook_deltas_by_user;

-- `branch` is '' for the main one; `parent` is what another one was forked from, at which version.
CREATE TABLE playbooks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    app            TEXT NOT NULL,
    shared         INTEGER NOT NULL,
    user_id        TEXT NOT NULL,
    branch         TEXT NOT NULL,
    version        INTEGER NOT NULL,
    next_id        INTEGER NOT NULL,
    digest         TEXT NOT NULL,
    last_seq       INTEGER NOT NULL,
    last_position  INTEGER NOT NULL,
    parent         INTEGER REFERENCES playbooks (id) ON DELETE SET NULL,
    parent_version INTEGER,
    UNIQUE (app, shared, user_id, branch)
);
CREATE TABLE playbook_bullets (
    playbook    INTEGER NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    bullet_id   TEXT NOT NULL,
    position    INTEGER NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (playbook, bullet_id)
);
-- `standing`: a held operation that nobody decided yet, or an archived bullet that did not return.
CREATE TABLE playbook_deltas (
    playbook    INTEGER NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    user_id     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    status      TEXT NOT NULL,
    bullet_id   TEXT,
    merged_into TEXT,
    standing    INTEGER NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (playbook, seq)
);
-- `digest` is NULL for versions of a program that did not write it down.
CREATE TABLE playbook_versions (
    playbook    INTEGER NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    digest      TEXT,
    created_at  TEXT NOT NULL,
    bullets     INTEGER,
    counts      TEXT NOT NULL,
    PRIMARY KEY (playbook, version)
) WITHOUT ROWID;
CREATE TABLE playbook_snapshots (
    playbook    INTEGER NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (playbook, version)
);
-- Digests of the names of commits, so that a repeated commit finds itself.
CREATE TABLE playbook_commits (
    playbook    INTEGER NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    commit_id   TEXT NOT NULL,
    version     INTEGER NOT NULL,
    PRIMARY KEY (playbook, commit_id)
) WITHOUT ROWID;

INSERT INTO playbooks
    SELECT id, app, shared, user, '', version, next_id, digest,
           ifnull((SELECT max(seq) FROM old_playbook_deltas d WHERE d.playbook = p.id), 0),
           ifnull((SELECT max(position) FROM old_playbook_bullets b WHERE b.playbook = p.id), 0),
           NULL, NULL
      FROM old_playbooks p;
INSERT INTO playbook_bullets SELECT playbook, bullet_id, position, body FROM old_playbook_bullets;
-- A body that was altered from outside must not stop the upgrade; reading it will tell.
INSERT INTO playbook_deltas
    SELECT playbook, seq, version, user,
           CASE WHEN json_valid(body) THEN ifnull(json_extract(body, '$.kind'), '') ELSE '' END,
           CASE WHEN json_valid(body) THEN ifnull(json_extract(body, '$.status'), '') ELSE '' END,
           CASE WHEN json_valid(body) THEN json_extract(body, '$.bullet_id') END,
           NULL,
           json_valid(body) AND ifnull(json_extract(body, '$.status'), '') = 'held',
           body
      FROM old_playbook_deltas;
INSERT INTO playbook_versions
    SELECT playbook, version, NULL,
           max(CASE WHEN json_valid(body) THEN ifnull(json_extract(body, '$.created_at'), '')
                    ELSE '' END),
           NULL, '{}'
      FROM old_playbook_deltas WHERE version > 0 GROUP BY playbook, version;
INSERT INTO playbook_snapshots SELECT playbook, version, body FROM old_playbook_snapshots;

DROP TABLE old_playbook_bullets;
DROP TABLE old_playbook_deltas;
DROP TABLE old_playbook_snapshots;
DROP TABLE old_playbooks;

CREATE INDEX playbook_deltas_by_version ON playbook_deltas (playbook, version, seq);
CREATE INDEX playbook_deltas_by_user ON playbook_deltas (user_id, playbook) WHERE user_id <> '';
CREATE INDEX playbook_deltas_by_bullet ON playbook_deltas (playbook, bullet_id, seq)
    WHERE bullet_id IS NOT NULL;
CREATE INDEX playbook_deltas_by_survivor ON playbook_deltas (playbook, merged_into, seq)
    WHERE merged_into IS NOT NULL;
CREATE INDEX playbook_deltas_standing ON playbook_deltas (playbook, status, seq) WHERE standing;
CREATE INDEX playbooks_by_parent ON playbooks (parent) WHERE parent IS NOT NULL;

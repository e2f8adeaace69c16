-- Branches: '' is the main one; `parent` is what another one was forked from, at which version.
ALTER TABLE playbooks
    ADD COLUMN branch text NOT NULL DEFAULT '',
    ADD COLUMN last_seq bigint NOT NULL DEFAULT 0,
    ADD COLUMN last_position bigint NOT NULL DEFAULT 0,
    ADD COLUMN parent bigint REFERENCES playbooks (id) ON DELETE SET NULL,
    ADD COLUMN parent_version integer,
    DROP CONSTRAINT playbooks_app_shared_user_id_key,
    ADD UNIQUE (app, shared, user_id, branch);
ALTER TABLE playbook_bullets ALTER COLUMN position TYPE bigint;

-- Columns to search the log by. `standing`: a held operation that nobody decided yet, or an
-- archived bullet that did not return.
ALTER TABLE playbook_deltas
    ADD COLUMN kind text NOT NULL DEFAULT '',
    ADD COLUMN status text NOT NULL DEFAULT '',
    ADD COLUMN bullet_id text,
    ADD COLUMN merged_into text,
    ADD COLUMN standing boolean NOT NULL DEFAULT false;
-- By the form in which rows were written, not as JSON: a text of half a character is none here.
UPDATE playbook_deltas SET
    kind = coalesce(substring(body FROM '"kind":"([A-Z]+)"'), ''),
    status = coalesce(substring(body FROM '"status":"([a-z]+)"'), ''),
    bullet_id = substring(body FROM '^.{0,80}"bullet_id":"([^"\\]+)"'),
    standing = coalesce(substring(body FROM '"status":"([a-z]+)"'), '') = 'held';
UPDATE playbooks SET
    last_seq = coalesce((SELECT max(seq) FROM playbook_deltas d WHERE d.playbook = id), 0),
    last_position = coalesce((SELECT max(position) FROM playbook_bullets b WHERE b.playbook = id), 0);

-- `digest` is null for versions of a program that did not write it down.
CREATE TABLE playbook_versions (
    playbook    bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    version     integer NOT NULL,
    digest      text,
    created_at  text NOT NULL,
    bullets     integer,
    counts      text NOT NULL,
    PRIMARY KEY (playbook, version)
);
INSERT INTO playbook_versions (playbook, version, created_at, counts)
    SELECT playbook, version, coalesce(max(substring(body FROM '"created_at":"([^"]+)"\}?$')), ''),
           '{}'
      FROM playbook_deltas WHERE version > 0 GROUP BY playbook, version;

-- Digests of the names of commits, so that a repeated commit finds itself.
CREATE TABLE playbook_commits (
    playbook    bigint NOT NULL REFERENCES playbooks (id) ON DELETE CASCADE,
    commit_id   text NOT NULL,
    version     integer NOT NULL,
    PRIMARY KEY (playbook, commit_id)
);
ALTER TABLE playbook_deltas DROP COLUMN commit_id;

DROP INDEX playbook_deltas_by_user;
CREATE INDEX playbook_deltas_by_user ON playbook_deltas (user_id, playbook) WHERE user_id <> '';
CREATE INDEX playbook_deltas_by_bullet ON playbook_deltas (playbook, bullet_id, seq)
    WHERE bullet_id IS NOT NULL;
CREATE INDEX playbook_deltas_by_survivor ON playbook_deltas (playbook, merged_into, seq)
    WHERE merged_into IS NOT NULL;
CREATE INDEX playbook_deltas_standing ON playbook_deltas (playbook, status, seq) WHERE standing;
CREATE INDEX playbooks_by_parent ON playbooks (parent) WHERE parent IS NOT NULL;

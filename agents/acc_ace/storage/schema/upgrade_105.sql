-- The endpoint that serves a CCM is a part of its name: the same model reads otherwise elsewhere. A
-- record of before has none, and counts for every endpoint until the first one that adds to it.
CREATE TABLE ccm_records_105 (
    app            text NOT NULL,
    user_id        text NOT NULL,
    model          text NOT NULL,
    endpoint       text NOT NULL,
    marks          text NOT NULL,
    PRIMARY KEY (app, user_id, model, endpoint),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);
INSERT INTO ccm_records_105 (app, user_id, model, endpoint, marks)
    SELECT app, user_id, model, '', marks FROM ccm_records;
DROP TABLE ccm_records;
ALTER TABLE ccm_records_105 RENAME TO ccm_records;

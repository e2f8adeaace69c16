-- How well a CCM reads rules: of each user and model, the newest sentences on which the reader is
-- certain, each a letter (see turn/ccm_record.py).
CREATE TABLE ccm_records (
    app            text NOT NULL,
    user_id        text NOT NULL,
    model          text NOT NULL,
    marks          text NOT NULL,
    PRIMARY KEY (app, user_id, model),
    FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
);

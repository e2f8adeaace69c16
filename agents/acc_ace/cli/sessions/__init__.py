"""`acc-ace sessions | state | rules | cost`: see and correct the sessions of any app."""

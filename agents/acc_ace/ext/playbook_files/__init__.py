"""Playbooks as files: import and export in several formats, and an export beside each commit.

Markdown, JSON and JSONL round-trip exactly; JSON with lessons by id and the text of the ACE authors
are what other tools write. `ACC_ACE_PLAYBOOK_FILES` writes each new version to the data directory.
"""

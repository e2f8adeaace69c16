"""Playbooks as files: Markdown, JSON and JSONL, which give back exactly what was written, and the
forms of other implementations, which can be read.

`playbook_file.read` and `playbook_file.write` are the entry points; the other
modules each hold one form.
"""

"""Playbook file formats: Markdown, JSON and JSONL, which round-trip exactly, and the formats of
other implementations, which can be read.

`playbook_file.read` and `playbook_file.write` are the entry points; the other
modules hold the formats.
"""

"""Playbooks as files: Markdown, JSON and JSONL, which give back exactly what was written, and the
forms of other implementations, which can be read.

`reading.read` and `writing.write` are the whole of it; the other modules each hold one form.
"""

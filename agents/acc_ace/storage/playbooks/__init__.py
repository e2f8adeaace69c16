"""Rows, caches and exported files of playbooks."""

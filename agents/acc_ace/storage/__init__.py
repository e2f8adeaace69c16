"""Implementations of the ports over SQLite and PostgreSQL."""

"""Stores in PostgreSQL."""

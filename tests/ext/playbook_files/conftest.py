"""Stores in SQLite that follow the files."""

from tests.contract.conftest import clock, other, stores

__all__ = ["clock", "other", "stores"]

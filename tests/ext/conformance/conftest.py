"""Fixtures of the checks of stores: each kind of store."""

from tests.contract.conftest import clock, store_settings, stores

__all__ = ["clock", "store_settings", "stores"]

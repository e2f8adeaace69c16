"""Fixtures of the tests of documents: each kind of store, and a server."""

from tests.contract.conftest import clock, store_settings, stores
from tests.fakes.place import place
from tests.server.conftest import app, container, http, scripted

__all__ = ["app", "clock", "container", "http", "place", "scripted", "store_settings", "stores"]

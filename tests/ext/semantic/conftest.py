"""Fixtures of the tests of recall by meaning."""

from tests.fakes.place import place

__all__ = ["place"]

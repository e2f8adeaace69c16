"""Fixtures of the tests of the lab."""

from tests.fakes.place import place

__all__ = ["place"]

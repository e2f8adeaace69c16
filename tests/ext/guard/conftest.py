"""Fixtures of the tests of the guard."""

from tests.fakes.place import place

__all__ = ["place"]

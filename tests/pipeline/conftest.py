"""Fixtures of the tests of whole turns."""

from tests.fakes.place import place

__all__ = ["place"]

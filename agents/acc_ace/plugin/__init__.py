"""Bounded memory for agents that others wrote, as a plugin of their App."""

from acc_ace.plugin.plugin import BoundedMemoryPlugin

__all__ = ["BoundedMemoryPlugin"]

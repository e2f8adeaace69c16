"""Bounded memory for existing agents, as a plugin of their App."""

from acc_ace.adk.plugin.bounded_memory import BoundedMemoryPlugin

__all__ = ["BoundedMemoryPlugin"]

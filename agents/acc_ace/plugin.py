"""Bounded memory for agents that others wrote, as a plugin of their App."""

from acc_ace.adk.plugin.bounded_memory import BoundedMemoryPlugin

__all__ = ["BoundedMemoryPlugin"]

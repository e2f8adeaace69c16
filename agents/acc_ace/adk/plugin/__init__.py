"""Bounded memory for agents that others wrote, by the callbacks of an ADK plugin."""

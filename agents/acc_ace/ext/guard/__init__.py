"""Judges tool calls against the rules in force, before they run."""

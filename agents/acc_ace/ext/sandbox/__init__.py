"""Hands: the Claude Code CLI as a model, and a playground for scripts. Off unless it is set up."""

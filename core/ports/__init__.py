"""Protocols that the turn needs from the outside world."""

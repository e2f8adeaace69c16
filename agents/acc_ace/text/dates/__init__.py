"""Dates and periods that English and Japanese texts name."""

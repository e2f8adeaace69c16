"""Dates and periods in English and Japanese texts."""
